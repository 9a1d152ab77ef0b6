//! Versions of servers that have known faults.

/// A known fault.
pub struct Known {
    /// What is so.
    pub what: &'static str,
    /// What it means.
    pub means: &'static str,
    /// What to do.
    pub cure: &'static str,
}

type Number = (u32, u32, u32);

/// The product and its version, by the fields of `INFO`.
pub fn read<'a>(name: &str, valkey: &'a str, redis: &'a str) -> (&'static str, &'a str) {
    match name == "valkey" || !valkey.is_empty() {
        true => ("Valkey", valkey),
        false => ("Redis", redis),
    }
}

/// The faults of a version.
pub fn known(product: &str, version: &str, is_cluster: bool) -> Vec<Known> {
    let Some(number) = parse(version) else { return Vec::new() };
    let mut known = Vec::new();
    if product == "Redis" && number < (6, 2, 0) {
        known.push(Known {
            what: "is older than 6.2",
            means: "Quotalock is not tested with it",
            cure: "update to Redis 6.2 or later, or to Valkey",
        });
    }
    if product == "Redis" && is_cluster && ((8, 2, 0)..(8, 3, 0)).contains(&number) {
        known.push(Known {
            what: "ends by an assertion at the first SPUBLISH, if its cluster was upgraded on an old nodes.conf",
            means: "a node dies when a lock that others wait for is released",
            cure: "see whether each line of nodes.conf has a shard-id; else take the right +spublish from the user",
        });
    }
    // CVE-2025-49844.
    let mended: &[Number] = match product {
        "Redis" => &[(6, 2, 20), (7, 2, 11), (7, 4, 6), (8, 0, 4), (8, 2, 2)],
        _ => &[(7, 2, 11), (8, 0, 6), (8, 1, 4)],
    };
    let line = mended.iter().find(|(major, minor, _)| (*major, *minor) == (number.0, number.1));
    let is_late = mended.last().is_some_and(|last| number >= *last);
    if line.map_or(!is_late, |line| number < *line) {
        known.push(Known {
            what: "may have CVE-2025-49844, unless your distribution has mended it",
            means: "whoever may run scripts can take the server over",
            cure: "update it, or ask your distribution",
        });
    }
    known
}

fn parse(version: &str) -> Option<Number> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::known;

    #[test]
    fn versions_with_faults_are_known() {
        for (product, version, count) in [
            ("Redis", "5.0.14", 2),
            ("Redis", "6.2.14", 1),
            ("Redis", "6.2.20", 0),
            ("Redis", "7.0.15", 1),
            ("Redis", "8.0.4", 0),
            ("Redis", "8.2.3", 0),
            ("Redis", "8.4.0", 0),
            ("Valkey", "8.0.1", 1),
            ("Valkey", "9.1.2", 0),
            ("Valkey", "unstable", 0),
        ] {
            assert_eq!(known(product, version, false).len(), count, "{product} {version}");
        }
        assert_eq!(known("Redis", "8.2.3", true).len(), 1);
    }
}
