"""`no-routing-loop` passes over brokers that it knows to lead to the subscriber; it must say what it says when each walk is followed to its end."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from roamcheck.model.overlay import Overlay
from roamcheck.model.view import OverlayView
from roamcheck.spec.messages import BrokerId, Entry, FilterId, SubscriberId
from roamcheck.spec.properties import no_routing_loop
from roamcheck.spec.state import Broker, Subscriber

BROKERS = [BrokerId(b) for b in ("b1", "b2", "b3", "b4")]
S = SubscriberId("s1")
ENTRIES = st.lists(st.sampled_from([*BROKERS, S, SubscriberId("s2")]), max_size=2, unique=True)


def view_of(links: frozenset[tuple[str, str]], hops: dict[str, list[str]]) -> OverlayView:
    overlay = Overlay(tuple(sorted((BrokerId(u), BrokerId(v)) for u, v in links)), tuple((b, None) for b in BROKERS))
    return OverlayView(overlay, {
        b: Broker(b, overlay.neighbours(b), (), (), tuple(Entry(FilterId(f"f{k}"), y, S) for k, y in enumerate(hops.get(b, [])))) for b in BROKERS
    })  # fmt: skip


def walks(view: OverlayView, home: str, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All walks that go on with this one and do not end at the subscriber."""
    here = view.brokers[BrokerId(path[-1])]
    hops = here.next_hops(S)
    if not hops and len(path) > 1:
        yield (*path, "nowhere")
    for y in hops:
        if y == S and path[-1] == home:
            continue
        if y in path:
            yield (*path, y)
        elif y not in here.neighbours:
            yield (*path, f"{y} (down)")
        else:
            yield from walks(view, home, (*path, y))


@given(
    st.frozensets(st.sampled_from([(u, v) for u in BROKERS for v in BROKERS if u < v])),
    st.dictionaries(st.sampled_from(BROKERS), ENTRIES),
    st.sampled_from(BROKERS),
)
@example(frozenset({("b1", "b2"), ("b2", "b3")}), {"b1": ["s1"], "b2": ["b1"], "b3": ["b1"]}, "b1")  # over a link that is down to one that ends
@example(frozenset({("b1", "b2"), ("b2", "b3")}), {"b1": ["s1"], "b3": ["b2"]}, "b1")  # to one that has no entry, which was looked at before
def test_every_walk_is_followed(links: frozenset[tuple[str, str]], hops: dict[str, list[str]], home: BrokerId) -> None:
    view, s = view_of(links, hops), Subscriber(S, home, True, (), 0, (), (), ())
    lost = [walk for b in view.component(home) for walk in walks(view, home, (b,))]
    breach = no_routing_loop(view, s)
    assert (breach is None) == (not lost)
    if breach is not None:
        path = dict(breach.values)["path"].split(" → ")
        assert path[0] == lost[0][0]
        assert tuple(path) in lost
