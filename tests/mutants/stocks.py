"""Faults of stocks: who gets units, until when, what returns, what is told of it."""

from __future__ import annotations

from mutant import LUA, RUST, Edit, Mutant

STOCK = f"{LUA}/stock"
TWIN = f"{RUST}/stock"
TESTS = ("stock", "stock_kept", "stock_full", "twin_stock")
MUTANTS = [
    Mutant(
        "the quick take looks at no buyer's limit",
        f"{STOCK}/quick.lua",
        "(had or 0) + n <= per_buyer",
        "n <= per_buyer",
    ),
    Mutant(
        "the quick take of a hold that is there takes again", f"{STOCK}/quick.lua", "member) == 1 then", "member) then"
    ),
    Mutant(
        "a key of another type lets a quick take hold what it does not count",
        f"{STOCK}/quick.lua",
        "redis.call('ZREM', KEYS[2], member)\n",
        "",
    ),
    Mutant(
        "a key of another type stops a take half way",
        f"{STOCK}/take.lua",
        "  redis.call('XLEN', KEYS[at + 2])\n",
        "",
    ),
    Mutant(
        "a full server keeps holds that are over",
        f"{STOCK}/release.lua",
        "  if #over > 0 then redis.call('ZREM', KEYS[s.at + 1], unpack(over)) end\n"
        "  for _, member in ipairs(over) do give_back(s, 'x', member) end\n",
        "  for _, member in ipairs(over) do give_back(s, 'x', member) end\n"
        "  if #over > 0 then redis.call('ZREM', KEYS[s.at + 1], unpack(over)) end\n",
    ),
    Mutant(
        "the units of holds that somebody deleted are lost",
        f"{STOCK}/release.lua",
        "if s.due == NEVER and s.held",
        "if s.due == 0 and s.held",
    ),
    Mutant(
        "the ledger is left without a TTL",
        f"{STOCK}/save.lua",
        "for at = s.at, s.at + 2 do",
        "for at = s.at, s.at + 1 do",
    ),
    Mutant("the TTLs are never set again", f"{STOCK}/save.lua", "s.kept < latest + s.memory / 2", "false"),
    Mutant("quick takes never have the TTLs set again", f"{STOCK}/quick.lua", "kept >= till + memory / 2", "true"),
    Mutant("the ledger of quick takes has no cap", f"{STOCK}/quick.lua", "if entries % 64 > 0 then", "if true then"),
    Mutant("the ledger of all else has no cap", f"{STOCK}/save.lua", "if s.entries % 64 == 0 then", "if false then"),
    # From here on in script and twin alike: they agree, so only the definitions can tell.
    Mutant(
        "a hold that is over is not returned",
        f"{STOCK}/take.lua",
        "math.min(s.due, till)",
        "s.due",
        (
            Edit(f"{STOCK}/quick.lua", "if till < due then due = till end", ""),
            Edit(f"{TWIN}/sale.rs", "self.due.min(till)", "self.due"),
        ),
    ),
    Mutant(
        "a hold counts at its end",
        f"{STOCK}/settle.lua",
        "tonumber(till) > s.now",
        "tonumber(till) >= s.now",
        Edit(f"{TWIN}/settle.rs", "till > sale.now()", "till >= sale.now()"),
    ),
    Mutant(
        "what expiry returned is returned once more by a cancellation",
        f"{STOCK}/settle.lua",
        "and tonumber(till) > s.now",
        "and (tonumber(till) > s.now or kind == 'u')",
        Edit(f"{TWIN}/settle.rs", "|till| till > sale.now()", "|till| till > sale.now() || byte == b'u'"),
    ),
    Mutant(
        "what is over is sold",
        f"{STOCK}/settle.lua",
        "and tonumber(till) > s.now",
        "and (tonumber(till) > s.now or kind == 'c')",
        Edit(f"{TWIN}/settle.rs", "|till| till > sale.now()", "|till| till > sale.now() || byte == b'c'"),
    ),
    Mutant(
        "what is confirmed twice is sold twice",
        f"{STOCK}/settle.lua",
        "    redis.call('ZREM', KEYS[s.at + 1], member)",
        "    if kind == 'u' then redis.call('ZREM', KEYS[s.at + 1], member) end",
        Edit(f"{TWIN}/sale.rs", "self.forget(&hold.member());\n        self.held -=", "self.held -="),
    ),
    Mutant(
        "a cancellation returns what was sold",
        f"{STOCK}/settle.lua",
        "    redis.call('ZREM', KEYS[s.at + 1], member)",
        "    if kind == 'u' then redis.call('ZREM', KEYS[s.at + 1], member) else s.held = s.held + 1 end",
        Edit(f"{TWIN}/sale.rs", "self.forget(&hold.member());\n        self.held -= hold.quantity", "self.held += 0"),
    ),
    Mutant(
        "a cancellation of what was sold says that it is cancelled",
        f"{STOCK}/settle.lua",
        "string.sub(known, 12) == kind",
        "#kind == 1",
        Edit(f"{TWIN}/settle.rs", "kind == [byte] &&", "kind.len() == 1 &&"),
    ),
    Mutant(
        "what was confirmed is forgotten",
        f"{STOCK}/settle.lua",
        "and now < struct.unpack('<I8', known, 4)",
        "and now < 1",
        Edit(f"{TWIN}/settle.rs", "now < u64::from_le_bytes(*until)", "now < u64::from_le_bytes(*until).min(1)"),
    ),
    Mutant(
        "what holds is sold though another of them is over",
        f"{STOCK}/settle.lua",
        "(all == 1 or kind == 'u')",
        "true",
        Edit(f"{TWIN}/settle.rs", "(!all && self", "(!all && now == 0 && self"),
    ),
    Mutant(
        "what holds is extended though another of them is over",
        f"{STOCK}/extend.lua",
        "if all == 1 and",
        "if s.now and item.till > s.now and",
        Edit(f"{TWIN}/extend.rs", "if all && end", "if end"),
    ),
    Mutant(
        "a hold that is over begins again",
        f"{STOCK}/extend.lua",
        "or till <= s.now then all",
        "or till == 0 then all",
        Edit(f"{TWIN}/extend.rs", ".filter(|till| *till > sale.now())", ".filter(|till| *till > 0)"),
    ),
    Mutant(
        "an extension shortens a hold",
        f"{STOCK}/extend.lua",
        "s.now + hold > item.till",
        "s.now",
        Edit(f"{TWIN}/extend.rs", "till > end", "till != end"),
    ),
    Mutant(
        "a shorter hold ends with the one before",
        f"{STOCK}/take.lua",
        "math.min(s.due, till)",
        "s.held > 0 and s.due or till",
        (
            Edit(f"{STOCK}/quick.lua", "if till < due then due = till end", ""),
            Edit(
                f"{TWIN}/sale.rs",
                "self.due = self.due.min(till)",
                "self.due = if self.held > hold.quantity { self.due } else { till }",
            ),
        ),
    ),
    Mutant(
        "a call ends holds without bound",
        f"{STOCK}/release.lua",
        "0, most, 'WITHSCORES'",
        "0, -1, 'WITHSCORES'",
        (
            Edit(f"{STOCK}/release.lua", "or #over == most", ""),
            Edit(f"{TWIN}/sale.rs", ".take(most)", ".take(most.max(1 << 20))"),
        ),
    ),
    Mutant(
        "a call ends one hold",
        f"{STOCK}/release.lua",
        "or #over == most",
        "or #over == 1",
        Edit(f"{TWIN}/sale.rs", ".take(most)", ".take(most.min(1))"),
    ),
    Mutant(
        "who would get nothing looks no further",
        f"{STOCK}/take.lua",
        "local rounds = 16",
        "local rounds = 1",
        Edit(f"{TWIN}/take.rs", "(0, 0, 16)", "(0, 0, 1)"),
    ),
    Mutant(
        "a buyer has one more than the limit",
        f"{STOCK}/take.lua",
        "+ s.n > s.per_buyer then",
        "+ s.n > s.per_buyer + 1 then",
        (
            Edit(f"{STOCK}/quick.lua", "+ n <= per_buyer", "+ n <= per_buyer + 1"),
            Edit(f"{TWIN}/take.rs", "had + n > sale.per_buyer", "had + n > sale.per_buyer + 1"),
        ),
    ),
    Mutant(
        "the limit counts a buyer's last take",
        f"{STOCK}/take.lua",
        "(s.more or 0) + s.n))",
        "s.n))",
        (
            Edit(f"{STOCK}/quick.lua", "count = had + n", "count = n"),
            Edit(f"{TWIN}/sale.rs", ".or_default() += hold.quantity", ".or_default() = hold.quantity"),
        ),
    ),
    Mutant(
        "the limit counts what a buyer cancelled",
        f"{STOCK}/release.lua",
        "string.format('%.0f', -n)",
        "string.format('%.0f', kind == 'u' and 0 or -n)",
        Edit(f"{TWIN}/sale.rs", "*count -= hold", "*count -= if kind == LedgerKind::Cancelled { 0 } else { 1 } * hold"),
    ),
    Mutant(
        "the limit counts what a buyer let go",
        f"{STOCK}/release.lua",
        "string.format('%.0f', -n)",
        "string.format('%.0f', kind == 'x' and 0 or -n)",
        Edit(f"{TWIN}/sale.rs", "*count -= hold", "*count -= if kind == LedgerKind::Expired { 0 } else { 1 } * hold"),
    ),
    Mutant(
        "the end of a sale is ignored",
        f"{STOCK}/load.lua",
        "or ends > 0 and now >= ends",
        "",
        (
            Edit(f"{STOCK}/quick.lua", "(ends == 0 or now < ends)", "true"),
            Edit(f"{TWIN}/sale.rs", "(self.ends > 0 && now >= self.ends)", "self.ends > now + (1 << 60)"),
        ),
    ),
    Mutant(
        "at its end a sale is still open",
        f"{STOCK}/load.lua",
        "now >= ends",
        "now > ends",
        (
            Edit(f"{STOCK}/quick.lua", "now < ends", "now <= ends"),
            Edit(f"{TWIN}/sale.rs", "now >= self.ends", "now > self.ends"),
        ),
    ),
    Mutant(
        "a closed sale opens again when the clock goes back",
        f"{STOCK}/load.lua",
        "ended = flags > 1 or",
        "ended =",
        Edit(f"{TWIN}/sale.rs", "self.closed || ", ""),
    ),
    Mutant(
        "a sale that had ended when it was closed opens again when the clock goes back",
        f"{STOCK}/close.lua",
        "close(s.ends)",
        "",
        Edit(f"{TWIN}/close.rs", "std::mem::replace(&mut sale.closed, true)", "sale.closed"),
    ),
    Mutant(
        "a take that is sent again takes again",
        f"{STOCK}/take.lua",
        "known or s.now and s.score",
        "false",
        (
            Edit(f"{STOCK}/quick.lua", "member) == 1 then", "member) then"),
            Edit(
                f"{TWIN}/take.rs",
                "end_of(&item.member).is_some());\n        }",
                "end_of(&item.member) == Some(0));\n        }",
            ),
        ),
    ),
    Mutant(
        "the first of several is taken though a later one refuses",
        f"{STOCK}/take.lua",
        "elseif outcome == 0 then",
        "elseif outcome == 0 or s.at == 1 and refused > 1 then",
        Edit(
            f"{TWIN}/take.rs",
            "() if outcome == 0 => {",
            "() if outcome == 0 || refused > 1 && std::ptr::eq(item, &self.items[0]) => {",
        ),
    ),
    Mutant(
        "a request that is sent again takes again",
        f"{STOCK}/recall.lua",
        "if now < struct.unpack('<I8', remembered, 4) then",
        "if now < 1 then",
        Edit(f"{TWIN}/memory.rs", "now < kept.until", "now < kept.until.min(1)"),
    ),
    Mutant(
        "a request is remembered for longer than asked for",
        f"{STOCK}/recall.lua",
        "if now < struct.unpack('<I8', remembered, 4) then",
        "if now <= struct.unpack('<I8', remembered, 4) then",
        Edit(f"{TWIN}/memory.rs", "now < kept.until", "now <= kept.until"),
    ),
    Mutant("a request of another buyer is answered", f"{TWIN}/take.rs", "key::encode_into(&mut key, buyer);", ""),
    Mutant(
        "a request for other stocks is answered", f"{TWIN}/take.rs", "if *set != Value", "if false && *set != Value"
    ),
    Mutant(
        "a restock sets what is available",
        f"{STOCK}/restock.lua",
        "s.available = s.available + n",
        "s.available = n",
        Edit(f"{TWIN}/sale.rs", "self.available += quantity", "self.available = quantity"),
    ),
    Mutant(
        "a restock is not remembered",
        f"{STOCK}/restock.lua",
        "remember(reply)",
        "",
        Edit(f"{TWIN}/restock.rs", "self.memory.remember(space, &reply, now);", ""),
    ),
    Mutant(
        "a prize is given to two",
        f"{STOCK}/prizes.lua",
        "  redis.call('HDEL', KEYS[s.at], unpack(fields))\n  s.first = s.first + n\n",
        "",
        Edit(f"{TWIN}/sale.rs", "drain(..hold.quantity as usize)", "iter().take(hold.quantity as usize).cloned()"),
    ),
    Mutant(
        "a prize that returns is lost",
        f"{STOCK}/release.lua",
        "put_back(s, redis",
        "tostring(redis",
        Edit(
            f"{TWIN}/sale.rs",
            "self.free.extend(self.given.remove(&hold.id).unwrap_or_default())",
            "self.given.remove(&hold.id)",
        ),
    ),
    Mutant(
        "a take gets prizes without bound",
        f"{STOCK}/take.lua",
        "s.n > 1000",
        "s.n > 1000000",
        Edit(f"{TWIN}/take.rs", "n > MAX_PRIZES_OF_A_TAKE", "n > 1_000 * MAX_PRIZES_OF_A_TAKE"),
    ),
    Mutant(
        "the ledger says nothing of what expires",
        f"{STOCK}/release.lua",
        "append(s, kind, member)",
        "if kind ~= 'x' then append(s, kind, member) end",
        Edit(
            f"{TWIN}/sale.rs",
            "self.append(kind, Some((place, hold)), None, hold.quantity);",
            "if kind != LedgerKind::Expired { self.append(kind, Some((place, hold)), None, hold.quantity) }",
        ),
    ),
    Mutant(
        "a clock that went back stretches a hold",
        f"{STOCK}/load.lua",
        "if time < seen then",
        "if time < 0 then",
        (
            Edit(f"{STOCK}/quick.lua", "time >= seen and", "true and"),
            Edit(f"{TWIN}/sale.rs", "if time < seen as i64", "if time < 0"),
        ),
    ),
    Mutant(
        "while the clock is back the time of a sale stands still",
        f"{STOCK}/load.lua",
        "seen, true end",
        "seen, dirty end",
        Edit(f"{TWIN}/sale.rs", "if self.time.1 != self.saved.1 || self.kept", "if self.kept"),
    ),
    Mutant(
        "an open sale is opened with other numbers",
        f"{STOCK}/open.lua",
        "if s then\n  if s.due",
        "if s and s.more and string.sub(s.more, 1, 44) == how then\n  if s.due",
        Edit(
            f"{TWIN}/open.rs",
            "&self.place, now)? {",
            "&self.place, now)?\n            && sale.opened == opened\n        {",
        ),
    ),
    Mutant(
        "prizes that are cut elsewhere are the same",
        f"{TWIN}/open.rs",
        "sha.update(&(prize.len() as u64).to_le_bytes());",
        "",
    ),
    Mutant(
        "a reservation that nobody made is settled",
        f"{TWIN}/id.rs",
        "if *given != tie(",
        "if given.is_empty() && *given != tie(",
    ),
    Mutant(
        "a reservation of another stock is settled",
        f"{TWIN}/id.rs",
        "in [place.keys[0].as_slice(), &[0], id, tail]",
        "in [&[0][..], id, tail]",
    ),
    Mutant(
        "a page leaves one out",
        f"{STOCK}/reservations.lua",
        "KEYS[2], ARGV[4]) + 1",
        "KEYS[2], ARGV[4]) + 2",
        Edit(f"{TWIN}/sale.rs", "(from, Bound::Unbounded))", "(from, Bound::Unbounded)).skip(is_there.into())"),
    ),
    Mutant(
        "what is over is listed",
        f"{STOCK}/reservations.lua",
        "s.now + 1))",
        "s.now))",
        Edit(f"{TWIN}/sale.rs", "end.max(self.now() + 1)", "end.max(self.now())"),
    ),
]
