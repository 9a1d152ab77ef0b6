"""What a Python programmer sees: values, their repr, what they convert to, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import quotalock
from quotalock import Rule
from surface import Surface, fresh_memory

HERE = Path(__file__).parent


def limiter(policy: Any = "2/minute") -> quotalock.Limiter:
    client = quotalock.Client(fresh_memory())
    quotalock.testing.set_time(client, 1_700_000_000_000_000)
    return client.limiter("checkout", policy)


def test_a_decision_reads_as_what_it_says() -> None:
    checkout = limiter()
    first, _, third = (checkout.consume("user:42") for _ in range(3))
    assert first
    assert not third
    assert repr(first) == (
        "Decision(allowed=True, limit=2, remaining=1, retry_after=0.0, reset_after=60.0, "
        "cost=1, source='memory', healed=False)"
    )
    assert repr(third) == (
        "Decision(allowed=False, limit=2, remaining=0, retry_after=60.0, reset_after=60.0, "
        "cost=1, source='memory', healed=False)"
    )
    assert repr(checkout.consume("user:42", 3)).startswith(
        "Decision(allowed=False, limit=2, remaining=0, retry_after=None,"
    )


def test_a_decision_of_several_rules_shows_them() -> None:
    decision = limiter("2/minute;10/hour").consume("user:42")
    hour = "RuleDecision(allowed=True, limit=10, remaining=9, retry_after=0.0, reset_after=3600.0)"
    assert repr(decision.rules[1]) == hour
    assert hour in repr(decision)
    assert isinstance(decision.rules, tuple)


def test_decisions_compare_by_what_they_say() -> None:
    one, other = limiter("2/minute;10/hour"), limiter("2/minute;10/hour")
    first = one.consume("a")
    assert first == other.consume("b")
    assert first != one.consume("a")
    assert first.rules == other.consume("c").rules
    assert first != "a decision"


@pytest.mark.parametrize("again", [lambda it: pickle.loads(pickle.dumps(it)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("cost", [1, 3])
def test_decisions_and_rules_are_pickled_and_copied(again: Any, cost: int) -> None:
    decision = limiter("2/minute;10/hour").consume("user:42", cost)
    assert again(decision) == decision
    assert again(decision).rules == decision.rules
    assert again(decision.rules[0]) == decision.rules[0]
    rule = Rule(3, 0.25, "calendar-window")
    assert again(rule) == rule


def test_an_error_crosses_processes_with_its_decision() -> None:
    with pytest.raises(quotalock.RateLimited) as caught:
        limiter().require("user:42", 3)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is quotalock.RateLimited
    assert (str(again), again.code, again.decision) == (str(caught.value), "limited", caught.value.decision)


def test_a_rule_is_a_value() -> None:
    rule = Rule(10, 60)
    assert (rule.limit, rule.period, rule.algorithm) == (10, 60.0, "fixed-window")
    assert (str(rule), repr(rule)) == ("10/minute", 'Rule(10, 60.0, "fixed-window")')
    assert rule == Rule(limit=10, period=60.0, algorithm="Fixed-Window")
    assert len({rule, Rule(10, 60.0), Rule(10, 61)}) == 2
    assert eval(repr(rule)) == rule


def test_a_rule_has_a_capacity() -> None:
    rule = Rule(10, 1, "token-bucket", 50)
    assert (rule.capacity, str(rule)) == (50, "token-bucket 10/second capacity 50")
    assert eval(repr(rule)) == pickle.loads(pickle.dumps(rule)) == rule
    plain = Rule(10, 1, "token-bucket")
    assert (plain.capacity, str(plain)) == (10, "token-bucket 10/second")
    assert plain == Rule(10, 1, "token-bucket", capacity=None) == Rule(10, 1, "token-bucket", 10)
    assert plain != rule
    assert len({plain, rule}) == 2
    assert Rule(10, 1).capacity == 10
    assert pickle.loads(pickle.dumps(Rule(10, 1))) == Rule(10, 1)
    for huge in (2**52 + 1, 2**62, 2**63, 2**70, 10**400):
        for given in ((huge, 1), (10, 1, "token-bucket", huge)):
            with pytest.raises(quotalock.InvalidPolicy):
                Rule(*given)
        with pytest.raises(quotalock.InvalidArgument):
            Rule(-huge, 1)
    for algorithm, capacity in (("token-bucket", 0), ("fixed-window", 10)):
        with pytest.raises(quotalock.InvalidPolicy, match="capacity"):
            Rule(10, 1, algorithm, capacity)
    with pytest.raises(quotalock.InvalidArgument, match="capacity"):
        Rule(10, 1, "token-bucket", -1)


@pytest.mark.parametrize(
    ("policy", "canonical"),
    [
        ("10 per 60 s ; 100/h", "10/minute;100/hour"),
        (Rule(10, 60), "10/minute"),
        ([Rule(10, 60), Rule(1, 0.25, "calendar-window")], "10/minute;calendar-window 1/250 ms"),
        ((Rule(n, 1) for n in (1, 2)), "1/second;2/second"),
    ],
)
def test_a_policy_is_text_a_rule_or_rules(policy: Any, canonical: str) -> None:
    assert limiter(policy).policy == canonical


def test_a_key_is_text_or_bytes() -> None:
    checkout = limiter()
    checkout.consume("ł")
    assert checkout.peek("ł".encode()).remaining == 1
    assert checkout.redis_key("ł") == checkout.redis_key("ł".encode()) == "ql:limit:checkout:{ł}".encode()
    assert checkout.redis_key(b"\xff\x00") == b"ql:limit:checkout:{\xff\x00}"


class Seven:
    def __index__(self) -> int:
        return 7


def test_what_says_that_it_is_a_whole_number_is_one() -> None:
    assert limiter("10/minute").consume("k", Seven()).cost == 7  # type: ignore[arg-type]


COSTS = [(True, "True"), (1.5, "1.5"), (1.0, "1.0"), ("1", "'1'"), (None, "None"), (2**70, str(2**70)), (-1, "-1")]
TIMES = [
    (math.nan, "nan"),
    (math.inf, "inf"),
    (-0.001, "-0.001"),
    (True, "True"),
    ("1", "'1'"),
    (1e300, "1"),
    (10**400, "inf"),
]


@pytest.mark.parametrize("verb", ["consume", "peek", "require", "refund"])
@pytest.mark.parametrize(("cost", "shown"), COSTS)
def test_a_cost_that_is_none_is_refused(surface: Surface, verb: str, cost: Any, shown: str) -> None:
    client = surface.module.Client(fresh_memory())
    with pytest.raises(quotalock.InvalidArgument) as caught:
        surface.call(getattr(client.limiter("checkout", "1/minute"), verb), "k", cost)
    assert shown in str(caught.value)
    assert ("amount" if verb == "refund" else "cost") in str(caught.value)


@pytest.mark.parametrize(("verb", "name"), [("wait", "timeout"), ("block", "duration")])
@pytest.mark.parametrize(("time", "shown"), TIMES)
def test_a_time_that_is_none_is_refused(surface: Surface, verb: str, name: str, time: Any, shown: str) -> None:
    client = surface.module.Client(fresh_memory())
    with pytest.raises(quotalock.InvalidArgument) as caught:
        surface.call(getattr(client.limiter("checkout", "1/minute"), verb), "k", time)
    assert shown in str(caught.value).lower() or shown in str(caught.value)
    assert name in str(caught.value)
    with pytest.raises(quotalock.InvalidArgument):
        surface.module.Client(fresh_memory(), timeout=time)


@pytest.mark.parametrize(
    "arguments",
    [(0, 1), (2**53, 1), (1, 0.0001), (1, 0), (1, 1.0005), (1, 60, "leaky-bucket")],
)
def test_a_rule_that_cannot_be_is_refused(arguments: Any) -> None:
    with pytest.raises(quotalock.InvalidPolicy):
        Rule(*arguments)


@pytest.mark.parametrize("arguments", [(-1, 1), (True, 1), (1, -1), (1, math.nan), (1.5, 1), (1, 1e12)])
def test_a_rule_of_what_is_no_number_is_refused(arguments: Any) -> None:
    with pytest.raises(quotalock.InvalidArgument):
        Rule(*arguments)


@pytest.mark.parametrize("key", [4.2, None, bytearray(b"k"), ["k"]])
def test_a_key_of_another_type_is_a_type_error(surface: Surface, key: Any) -> None:
    client = surface.module.Client(fresh_memory())
    with pytest.raises(TypeError, match="give a str, bytes or an int"):
        surface.call(client.limiter("checkout", "1/minute").consume, key)


def test_a_key_without_a_form_in_utf_8_is_refused() -> None:
    with pytest.raises(quotalock.InvalidArgument, match="UTF-8"):
        limiter().consume("\ud800")


@pytest.mark.parametrize("policy", [42, None, ["10/minute"], [Rule(1, 1), None]])
def test_a_policy_of_another_type_is_a_type_error(policy: Any) -> None:
    with pytest.raises(TypeError, match=r"give (a|one) str"):
        limiter(policy)


def test_no_rules_are_no_policy() -> None:
    with pytest.raises(quotalock.InvalidPolicy, match="empty"):
        limiter([])


def test_nothing_shows_a_password(surface: Surface) -> None:
    client = surface.module.Client("redis://app:swordfish@127.0.0.1:1/3", timeout=0.2)
    checkout = client.limiter("checkout", "1/minute")
    with pytest.raises(quotalock.Unavailable) as caught:
        surface.call(checkout.consume, "k")
    for shown in (repr(client), str(client), client.server, repr(checkout), str(caught.value), repr(caught.value)):
        assert "swordfish" not in shown
    module = "quotalock" if surface.name == "python" else "quotalock.aio"
    assert repr(client) == f'<{module}.Client {client.server} prefix="ql">'
    assert repr(checkout) == f'<{module}.Limiter "checkout" 1/minute>'


def test_a_closed_client_answers_closed(surface: Surface, url: str, prefix: str) -> None:
    client = surface.module.Client(url, prefix=prefix, timeout=10.0)
    checkout = client.limiter("checkout", "1/minute")
    assert surface.call(checkout.consume, "k")
    surface.call(client.close)
    surface.call(client.close)
    for verb in (checkout.consume, checkout.peek, checkout.require, checkout.reset):
        with pytest.raises(quotalock.Closed):
            surface.call(verb, "k")


def test_with_closes() -> None:
    with quotalock.Client(fresh_memory()) as client:
        checkout = client.limiter("checkout", "1/minute")
        assert checkout.consume("k")
    with pytest.raises(quotalock.Closed):
        checkout.consume("k")


def test_async_with_closes() -> None:
    with Surface("python-aio") as surface:

        async def body() -> Any:
            async with surface.module.Client(fresh_memory()) as client:
                checkout = client.limiter("checkout", "1/minute")
                assert await checkout.consume("k")
            return checkout

        checkout = surface.call(body)
        with pytest.raises(quotalock.Closed):
            surface.call(checkout.consume, "k")


@pytest.mark.parametrize("module", ["quotalock", "quotalock.aio"])
def test_limit_in_one_line_asks_the_server_of_the_environment(module: str, url: str, prefix: str) -> None:
    calls = f"limit({prefix!r}, 'user:42', '2/minute'), limit({prefix!r}, b'user:42', [Rule(2, 60)], cost=2)"
    if module == "quotalock":
        code = f"print(*map(bool, [{calls}]))"
    else:
        code = (
            f"import asyncio\nasync def main(): print(*map(bool, await asyncio.gather({calls})))\nasyncio.run(main())"
        )
    code = f"from {module} import limit, Rule\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"QUOTALOCK_URL": url}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True False\n"


def test_limit_takes_every_form_of_a_policy() -> None:
    calls = ", ".join(
        f"limit('a', 'k', {policy}).remaining" for policy in ("'5/minute'", "Rule(5, 60)", "[Rule(5, 60)]", "'5/60s'")
    )
    code = f"from quotalock import limit, Rule, InvalidPolicy\nprint({calls})\n"
    code += "for bad in 'x', '', [], [5], 5:\n    try: limit('a', 'k', bad)\n"
    code += "    except (InvalidPolicy, TypeError) as error: print(type(error).__name__)\n"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"QUOTALOCK_URL": "memory://"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["4", "3", "2", "1", *["InvalidPolicy"] * 3, *["TypeError"] * 2]


@pytest.mark.parametrize("example", ["example.py", "example_aio.py"])
def test_the_examples_run(example: str) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", str(HERE / example)]
    done = subprocess.run(command, env={"QUOTALOCK_URL": "memory://"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "True 9 0.0"
    assert done.stdout.splitlines()[-1] == "welcome"


def test_importing_the_package_imports_no_asyncio() -> None:
    call = "quotalock.Client('memory://').limiter('a', '1/s').consume('k')"
    code = f"import sys, quotalock; {call}; print('asyncio' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_clients_share_the_memory_of_their_process_by_its_name(surface: Surface) -> None:
    url = fresh_memory()

    def left(client: Any) -> int:
        remaining: int = surface.call(client.limiter("shared", "9/hour").consume, url).remaining
        return remaining

    clients = [surface.module.Client(url, timeout=timeout) for timeout in (0.5, 0.6)]
    plain = [surface.module.Client("memory://") for _ in range(2)]
    assert [left(client) for client in [*clients, *plain]] == [8, 7, 8, 7]
    assert [clients[0].server, plain[0].server] == [url, "memory://"]
    for client in [*clients, *plain]:
        surface.call(client.close)
    # One with a name goes with its last client; the other stays.
    assert [left(surface.module.Client(each)) for each in (url, "memory://")] == [8, 6]
