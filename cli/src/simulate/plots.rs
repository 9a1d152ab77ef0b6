//! Plots of a report as inline SVG.

use std::fmt::Write;

use super::report::{Bins, Client, PolicyOutcome};
use super::text::moment;
use crate::numbers::{count, percent};
use crate::printable::escaped;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const HEIGHT: f64 = 220.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 28.0;
/// The height of a bar of a client.
const ROW: f64 = 22.0;
/// Where such a bar begins.
const NAMES: f64 = 300.0;

/// A picture with words for those who do not see it.
struct Picture(String);

impl Picture {
    fn new(height: f64, told: &str) -> Picture {
        let told = escaped(told);
        Picture(format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{told}\">"))
    }

    fn bar(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64, told: &str) {
        if width <= 0.0 || height <= 0.0 {
            return;
        }
        let told = escaped(told);
        // A String takes everything, here and below.
        let _ = write!(
            self.0,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{told}</title></rect>"
        );
    }

    fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = write!(self.0, "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
    }

    fn text(&mut self, anchor: &str, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        let _ = write!(self.0, "<text text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }

    fn done(mut self) -> String {
        self.0.push_str("</svg>");
        self.0
    }
}

/// A round number that is not less.
fn round(most: u64) -> u64 {
    let unit = 10_u64.pow(most.max(1).ilog10());
    [1, 2, 5, 10].into_iter().map(|n| n * unit).find(|top| *top >= most).unwrap_or(most)
}

/// Admitted and denied requests over time, stacked.
pub fn over_time(bins: &Bins, told: &str) -> String {
    let mut picture = Picture::new(HEIGHT, told);
    let (length, base) = (bins.admitted.len(), HEIGHT - BOTTOM);
    let top = round(bins.admitted.iter().zip(&bins.denied).map(|(a, d)| a + d).max().unwrap_or(1));
    let (step, scale) = ((WIDTH - LEFT - RIGHT) / length.max(1) as f64, (base - TOP) / top as f64);
    for part in 0..=2 {
        let y = base - (base - TOP) * f64::from(part) / 2.0;
        picture.line("grid", (LEFT, y), (WIDTH - RIGHT, y));
        let label = top as f64 * f64::from(part) / 2.0;
        picture.text(
            "end",
            LEFT - 6.0,
            y + 4.0,
            &if label.fract() == 0.0 { count(label as u64) } else { label.to_string() },
        );
    }
    for (at, (admitted, denied)) in bins.admitted.iter().zip(&bins.denied).enumerate() {
        let (x, when) = (LEFT + at as f64 * step, moment(bins.start + at as u64 * bins.width));
        let told = format!("{when}: {} admitted, {} denied", count(*admitted), count(*denied));
        let (up, down) = (*admitted as f64 * scale, *denied as f64 * scale);
        picture.bar("admitted", x, base - up, (step - 0.3).max(0.5), up, &told);
        // A single denial among thousands is seen as well.
        let down = if *denied > 0 { down.max(1.5) } else { 0.0 };
        picture.bar("denied", x, base - up - down, (step - 0.3).max(0.5), down, &told);
    }
    for (anchor, part) in [("start", 0.0), ("middle", 0.5), ("end", 1.0)] {
        let x = LEFT + (WIDTH - LEFT - RIGHT) * part;
        let at = bins.start + (length as f64 * part) as u64 * bins.width;
        picture.text(anchor, x, HEIGHT - 8.0, &moment(at));
    }
    picture.done()
}

/// The clients of whom most is denied, a bar each.
pub fn clients(worst: &[Client]) -> String {
    let most = worst.iter().map(|client| client.requests).max().unwrap_or(1);
    let rows = worst.iter().map(|client| {
        let told = format!("{} of {} denied", count(client.denied.into()), count(client.requests.into()));
        (client.short(), told, f64::from(client.requests - client.denied), f64::from(client.denied))
    });
    bars(rows.collect(), f64::from(most), "The clients of whom most is denied")
}

/// How many clients have which share of their requests denied.
pub fn classes(outcome: &PolicyOutcome) -> String {
    let most = outcome.classes.iter().map(|(_, clients)| *clients).max().unwrap_or(1);
    let rows = outcome.classes.iter().enumerate().map(|(at, (label, clients))| {
        let number = *clients as f64;
        let (admitted, denied) = if at == 0 { (number, 0.0) } else { (0.0, number) };
        (format!("{label} denied"), format!("{} clients", count(*clients)), admitted, denied)
    });
    bars(rows.collect(), most as f64, "Clients by the share of their requests that is denied")
}

/// Rows of a name, what is said behind the bar, and two parts.
fn bars(rows: Vec<(String, String, f64, f64)>, most: f64, told: &str) -> String {
    let mut picture = Picture::new(rows.len() as f64 * ROW + 8.0, told);
    let scale = (WIDTH - NAMES - RIGHT - 170.0) / most.max(1.0);
    for (at, (name, told, admitted, denied)) in rows.iter().enumerate() {
        let y = 4.0 + at as f64 * ROW;
        picture.text("end", NAMES - 8.0, y + 14.0, name);
        let denied = if *denied > 0.0 { (denied * scale).max(1.5) } else { 0.0 };
        picture.bar("denied", NAMES, y + 2.0, denied, ROW - 6.0, told);
        picture.bar("admitted", NAMES + denied, y + 2.0, admitted * scale, ROW - 6.0, told);
        picture.text("start", NAMES + denied + admitted * scale + 8.0, y + 14.0, told);
    }
    picture.done()
}

/// The share of clients that is denied, by the first rule's limit on a logarithmic scale.
pub fn curve(points: &[(u64, f64)], below: f64) -> String {
    let mut picture = Picture::new(HEIGHT, "The share of clients that is denied, by the limit");
    let base = HEIGHT - BOTTOM;
    let (first, last) = (points.first().map_or(1, |p| p.0) as f64, points.last().map_or(1, |p| p.0) as f64);
    let x = |limit: f64| LEFT + (WIDTH - LEFT - RIGHT) * ((limit / first).ln() / (last / first).ln().max(1e-9));
    let top = points.iter().map(|(_, share)| *share).fold(below, f64::max).max(0.01) * 1.05;
    let y = |share: f64| base - (base - TOP) * share / top;
    for share in [0.0, top / 2.0, top] {
        picture.line("grid", (LEFT, y(share)), (WIDTH - RIGHT, y(share)));
        picture.text("end", LEFT - 6.0, y(share) + 4.0, &percent(share));
    }
    picture.line("mark", (LEFT, y(below)), (WIDTH - RIGHT, y(below)));
    let mut path = String::new();
    for (at, (limit, share)) in points.iter().enumerate() {
        let (x, y) = (x(*limit as f64), y(*share));
        // As a stair: up to the next limit it stays.
        let _ = if at == 0 { write!(path, "M{x:.1} {y:.1}") } else { write!(path, "H{x:.1}V{y:.1}") };
    }
    let _ = write!(picture.0, "<path class=\"curve\" d=\"{path}\"/>");
    let middle = (first * last).sqrt();
    for (anchor, limit) in [("start", first), ("middle", middle), ("end", last)] {
        picture.text(anchor, x(limit), HEIGHT - 8.0, &count(limit.round() as u64));
    }
    picture.done()
}
