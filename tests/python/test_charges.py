"""Several keys at once, request ids, reservations and shadow mode as a Python programmer meets them, on both faces."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import quotalock
from quotalock import aio
from surface import Surface, fresh_memory

NOW = 1_700_000_000_000_000


def client_of(surface: Surface, url: str | None = None, **options: Any) -> Any:
    client = surface.module.Client(url or fresh_memory(), **options)
    surface.call(surface.testing.set_time, client, NOW)
    return client


def test_charges_are_pairs_or_triples_of_any_iterable(surface: Surface) -> None:
    client = client_of(surface)
    user, address = client.limiter("user", "10/minute"), client.limiter("address", "3/minute")
    charges = [(user, "42"), (address, b"10.0.0.1", 3)]
    both = surface.call(client.consume_all, charges)
    assert both
    assert (both.allowed, both.binding, both.retry_after, both.source) == (True, 1, 0.0, "memory")
    assert [(d.cost, d.remaining) for d in both.decisions] == [(1, 9), (3, 0)]
    again = surface.call(client.consume_all, (charge for charge in charges))
    assert not again
    assert (again.allowed, again.binding, again.retry_after) == (False, 1, 60.0)
    assert surface.call(user.peek, "42").remaining == 9


def test_a_decision_about_several_keys_is_a_value(surface: Surface) -> None:
    def combined(cost: int) -> Any:
        client = client_of(surface)
        trial = client.limiter("trial", "2/minute;9/hour", enforce=False)
        return surface.call(client.consume_all, [(client.limiter("user", "5/minute"), "k", cost), (trial, "k", 3)])

    one, denied = combined(1), combined(6)
    assert isinstance(one, quotalock.CombinedDecision)
    assert isinstance(one.decisions, tuple)
    assert (one.would_deny, [d.would_deny for d in one.decisions]) == (True, [False, True])
    assert one == combined(1)
    assert one != denied
    assert repr(one) == (
        "CombinedDecision(allowed=True, would_deny=True, binding=1, retry_after=0.0, source='memory', "
        f"decisions={one.decisions!r})"
    )
    assert repr(denied).startswith("CombinedDecision(allowed=False, would_deny=True, binding=0, retry_after=None,")
    ways: list[Callable[[Any], Any]] = [lambda it: pickle.loads(pickle.dumps(it)), copy.copy, copy.deepcopy]
    for again in ways:
        assert again(one) == one
        assert again(denied) == denied
        assert again(one).decisions == one.decisions
        assert again(one.decisions[1]).would_deny


def test_a_policy_on_trial_lets_pass_what_it_would_deny(surface: Surface) -> None:
    trial = client_of(surface).limiter("trial", "1/minute", enforce=False)
    assert not trial.enforce
    first, second = (surface.call(trial.consume, "k") for _ in range(2))
    assert (first.would_deny, second.would_deny) == (False, True)
    assert second
    assert repr(first).endswith("healed=False)")
    assert repr(second).endswith("healed=False, would_deny=True)")
    assert first != second
    assert pickle.loads(pickle.dumps(second)) == second
    assert surface.call(trial.require, "k").would_deny


@pytest.mark.parametrize(("scope", "tag"), [("tenant:ł", "tenant:ł".encode()), (b"\xff\x00", b"\xff\x00")])
def test_a_scope_is_read_as_it_was_given(surface: Surface, scope: Any, tag: bytes) -> None:
    client = client_of(surface)
    limiter = client.limiter("user", "10/minute", scope=scope)
    assert limiter.scope == scope
    assert type(limiter.scope) is type(scope)
    assert limiter.redis_key("42") == b"ql:limit:user:{" + tag + b"}:{42}"
    plain = client.limiter("user", "10/minute")
    assert (plain.scope, plain.enforce) == (None, True)


def test_a_request_id_is_text_or_bytes(surface: Surface) -> None:
    client = client_of(surface)
    limiter = client.limiter("user", "10/minute")
    first = surface.call(limiter.consume, "k", request_id="ł")
    assert surface.call(limiter.consume, "k", 1, "ł".encode()) == first
    assert surface.call(limiter.consume, "k", 1, None).remaining == 8
    assert surface.call(limiter.consume, "k", 1, b"\xff\x00").remaining == 7
    assert surface.call(limiter.consume, "k", 1, b"\xff\x00").remaining == 7
    for _ in range(2):
        assert surface.call(limiter.refund, "k", 2, request_id=b"\xff").remaining == 9
        assert surface.call(client.consume_all, [(limiter, "k", 4)], request_id=b"\xfe").decisions[0].remaining == 5
    assert surface.call(limiter.peek, "k").remaining == 5


def test_a_request_is_remembered_as_long_as_the_client_says(surface: Surface) -> None:
    client = client_of(surface, timeout=0.25, request_memory=0.001)
    limiter = client.limiter("user", "10/minute")
    for later, remaining in ((0, 9), (249_999, 9), (250_000, 8)):
        surface.call(surface.testing.set_time, client, NOW + later)
        assert surface.call(limiter.consume, "k", request_id="r").remaining == remaining
    for memory in (0, -1, 86_401, True, "60"):
        with pytest.raises(quotalock.InvalidArgument, match="request_memory"):
            surface.module.Client(fresh_memory(), request_memory=memory)


def test_a_reservation_says_what_it_is(surface: Surface) -> None:
    limiter = client_of(surface).limiter("tokens", "10/minute")
    reservation = surface.call(limiter.reserve, "user:42", 8, 30)
    assert type(reservation) is surface.module.Reservation
    assert reservation
    assert (reservation.key, reservation.decision.cost, reservation.decision.remaining) == ("user:42", 8, 2)
    assert bytes.fromhex(reservation.id).hex() == reservation.id
    module = "quotalock" if surface.name == "python" else "quotalock.aio"
    assert repr(reservation) == f"<{module}.Reservation {reservation.id} of 'user:42'>"
    assert surface.call(reservation.settle, 3) is True
    assert surface.call(reservation.settle, 4) is False
    assert surface.call(limiter.peek, "user:42").remaining == 7

    denied = surface.call(limiter.reserve, b"user:42", 8, 0.5, unsettled="returned")
    assert not denied
    assert (denied.key, denied.decision.allowed) == (b"user:42", False)
    assert surface.call(denied.cancel) is False


def test_a_reservation_is_found_by_its_key_and_id(surface: Surface) -> None:
    limiter = client_of(surface).limiter("tokens", "10/minute")
    made = surface.call(limiter.reserve, "k", 8, 30, "returned")
    found = limiter.reservation(b"k", made.id)
    assert found
    assert (found.key, found.id, found.decision) == (b"k", made.id, None)
    assert surface.call(found.cancel) is True
    assert surface.call(limiter.peek, "k").remaining == 10
    # It asks nobody, so it knows no better.
    assert limiter.reservation("k", "00" * 16)
    for id in ("", "00" * 15, "xy" * 16):
        with pytest.raises(quotalock.InvalidArgument, match="reservation id"):
            limiter.reservation("k", id)
    with pytest.raises(TypeError, match="id"):
        limiter.reservation("k", b"00" * 16)


def test_up_to_takes_what_is_left(surface: Surface) -> None:
    limiter = client_of(surface).limiter("mails", "5/minute")
    taken = [surface.call(limiter.consume_up_to, "k", 3) for _ in range(3)]
    assert [(d.cost, bool(d)) for d in taken] == [(3, True), (2, True), (0, False)]


BAD_CHARGES: list[tuple[Any, str]] = [
    (42, "charges 42 is an int: give a list of tuples"),
    (None, "charges None is a NoneType"),
    ([42], "charge 42 is an int: give a tuple"),
    (["ab"], "charge 'ab' is a str"),
    ([["limiter", "k"]], r"charge \['limiter', 'k'\] is a list"),
    ([("limiter", "k")], r"charge \('limiter', 'k'\) has no limiter"),
    ([()], r"charge \(\) has 0 parts"),
    ([("limiter", "k", 1, 1)], "has 4 parts"),
]


@pytest.mark.parametrize(("charges", "message"), BAD_CHARGES)
def test_what_is_no_charge_is_a_type_error(surface: Surface, charges: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        surface.call(client_of(surface).consume_all, charges)


def test_a_key_of_another_type_in_a_charge_is_a_type_error(surface: Surface) -> None:
    client = client_of(surface)
    limiter = client.limiter("user", "10/minute")
    with pytest.raises(TypeError, match=r"key 4\.2 is a float: give a str, bytes or an int"):
        surface.call(client.consume_all, [(limiter, 4.2)])
    with pytest.raises(TypeError, match="scope 42 is an int: give a str or bytes"):
        client.limiter("user", "10/minute", 42)
    with pytest.raises(TypeError, match="enforce"):
        client.limiter("user", "10/minute", None, "yes")
    with pytest.raises(TypeError, match="request_id 42 is an int: give a str or bytes"):
        surface.call(limiter.consume, "k", 1, 42)
    with pytest.raises(quotalock.InvalidArgument, match=r"request_id '.+' has no UTF-8 form"):
        surface.call(limiter.consume, "k", 1, "\ud800")
    with pytest.raises(TypeError, match=r"key 4\.2 is a float"):
        surface.call(limiter.reserve, 4.2, 1, 1)


@pytest.mark.parametrize("cost", [True, 1.5, None, "1", -1, 0, 2**52 + 1, 2**70])
def test_an_amount_that_is_none_is_refused(surface: Surface, cost: Any) -> None:
    client = client_of(surface)
    limiter = client.limiter("user", "10/minute")
    shown = repr(cost)
    for call, arguments in (
        (client.consume_all, ([(limiter, "k", cost)],)),
        (limiter.consume_up_to, ("k", cost)),
        (limiter.reserve, ("k", cost, 1)),
    ):
        with pytest.raises(quotalock.InvalidArgument) as caught:
            surface.call(call, *arguments)
        assert shown in str(caught.value)
    if cost != 0:
        with pytest.raises(quotalock.InvalidArgument) as caught:
            surface.call(limiter.reservation("k", "00" * 16).settle, cost)
        assert shown in str(caught.value)
    assert surface.call(limiter.peek, "k").remaining == 10


def test_a_hold_that_cannot_be_is_refused(surface: Surface) -> None:
    limiter = client_of(surface).limiter("user", "10/minute")
    for ttl in (0, -1, True, "1", 1e12, float("nan")):
        with pytest.raises(quotalock.InvalidArgument, match="ttl"):
            surface.call(limiter.reserve, "k", 1, ttl)
    with pytest.raises(quotalock.InvalidArgument, match="kept"):
        surface.call(limiter.reserve, "k", 1, 1, "kept")


def test_charges_that_cannot_be_together_are_refused(surface: Surface) -> None:
    client = client_of(surface)
    limiter = client.limiter("user", "10/minute")
    with pytest.raises(quotalock.InvalidArgument, match="no charge"):
        surface.call(client.consume_all, [])
    with pytest.raises(quotalock.InvalidArgument, match="twice"):
        surface.call(client.consume_all, [(limiter, "k"), (limiter, b"k")])
    # Of another client of this face, and of either client of the other face.
    for other in (client_of(surface), quotalock.Client(fresh_memory()), aio.Client(fresh_memory())):
        with pytest.raises(quotalock.InvalidArgument, match='limiter "other" belongs to another client'):
            surface.call(client.consume_all, [(limiter, "k"), (other.limiter("other", "10/minute"), "k")])
    assert surface.call(limiter.peek, "k").remaining == 10


def test_a_closed_client_settles_nothing(surface: Surface, url: str, prefix: str) -> None:
    client = surface.module.Client(url, prefix=prefix, timeout=10)
    limiter = client.limiter("tokens", "10/minute")
    reservation = surface.call(limiter.reserve, "k", 1, 30)
    surface.call(client.close)
    for call, arguments in (
        (client.consume_all, ([(limiter, "k")],)),
        (limiter.consume_up_to, ("k", 1)),
        (limiter.reserve, ("k", 1, 1)),
        (reservation.settle, (1,)),
        (reservation.cancel, ()),
    ):
        with pytest.raises(quotalock.Closed):
            surface.call(call, *arguments)
