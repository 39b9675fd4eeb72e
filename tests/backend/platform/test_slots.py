"""Whose request is next: organizations take turns, however many requests one of them sends."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from jitterscope.errors import Problem
from jitterscope.slots import Bound, Caller, Slots

ONE = Bound("one", 1024, 60, of_caller=1, of_organization=1, of_process=1, waiting=1000, waits_s=60)


async def order(bound: Bound, *callers: Caller) -> list[Caller]:
    """Who gets a slot after whom, if all ask at once while another request keeps the only slot."""
    slots, before, served = Slots(), Caller("before", 0), []
    await slots.take(bound, before)

    async def request(caller: Caller) -> None:
        await slots.take(bound, caller)
        served.append(caller)
        await asyncio.sleep(0)
        slots.give_back(bound, caller)

    running = [asyncio.create_task(request(one)) for one in callers]
    await asyncio.sleep(0)
    slots.give_back(bound, before)
    await asyncio.gather(*running)
    return served


def test_organizations_take_turns() -> None:
    greedy = [Caller(f"token {number}", organization) for organization in (1, 2) for number in range(100)]
    third = Caller("token", 3)
    served = asyncio.run(order(ONE, *greedy, third))
    assert [one.organization_id for one in served[:4]] == [1, 2, 3, 1]
    assert len(served) == 201


def test_callers_of_an_organization_take_turns() -> None:
    greedy, colleague = Caller("token 1", 1), Caller("token 2", 1)
    served = asyncio.run(order(ONE, *[greedy] * 50, colleague))
    assert served[:2] == [greedy, colleague]


def test_networks_take_turns() -> None:
    served = asyncio.run(order(ONE, *[Caller("network a")] * 50, Caller("network b")))
    assert served[1] == Caller("network b")


def test_a_caller_at_its_limit_keeps_nobody_of_its_organization_waiting() -> None:
    async def scenario() -> None:
        slots, greedy, colleague = Slots(), Caller("token 1", 1), Caller("token 2", 1)
        bound = replace(ONE, of_organization=2, of_process=2)
        await slots.take(bound, greedy)
        waiting = [asyncio.create_task(slots.take(bound, greedy)) for _ in range(5)]
        await asyncio.sleep(0)
        await asyncio.wait_for(slots.take(bound, colleague), 1)
        for task in waiting:
            task.cancel()

    asyncio.run(scenario())


def test_an_organization_cannot_fill_the_line_with_more_tokens() -> None:
    async def scenario() -> None:
        slots, bound = Slots(), replace(ONE, waiting=10)
        await slots.take(bound, Caller("token 0", 1))
        waiting = [asyncio.create_task(slots.take(bound, Caller(f"token {one}", 1))) for one in range(100)]
        await asyncio.sleep(0)
        refused = [one for one in waiting if one.done()]
        assert len(waiting) - len(refused) == 20
        assert all(isinstance(one.exception(), Problem) for one in refused)
        for task in waiting:
            task.cancel()

    asyncio.run(scenario())


async def settled() -> None:
    """Let every task run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_the_last_slot_is_for_an_organization_that_has_none() -> None:
    """Two organizations with long requests do not keep the third one waiting, and it does not take more either."""
    bound = replace(ONE, of_caller=3, of_organization=3, of_process=4)
    first, second, third, fourth = (Caller(f"token {number}", number) for number in range(1, 5))

    async def scenario() -> None:
        slots = Slots()
        served: list[Caller] = []

        async def request(caller: Caller) -> None:
            await slots.take(bound, caller)
            served.append(caller)

        waiting = [asyncio.create_task(request(one)) for one in (first, first, first, first, second, second)]
        await settled()
        assert served == [first, first, first, second]
        slots.give_back(bound, first)
        await settled()
        assert len(served) == 4, "both have some: the free slot is kept"
        await asyncio.wait_for(slots.take(bound, third), 1)
        waiting += [asyncio.create_task(request(one)) for one in (third, fourth)]
        await settled()
        assert len(served) == 4
        slots.give_back(bound, third)
        await settled()
        assert served[4:] == [fourth], "the first in line of those that had none"
        slots.give_back(bound, first)
        await settled()
        assert served[5:] == [third]
        slots.give_back(bound, third)
        slots.give_back(bound, fourth)
        await settled()
        assert served[6:] == [second], "nobody without waits, and more than one slot is free"
        for task in waiting:
            task.cancel()

    asyncio.run(scenario())


def test_who_may_take_every_slot_is_kept_from_none() -> None:
    async def scenario() -> None:
        slots, bound = Slots(), replace(ONE, of_caller=2, of_organization=2, of_process=2)
        for caller in (Caller("token", 1), Caller("token", 1)):
            await asyncio.wait_for(slots.take(bound, caller), 1)

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_line_of_tens_of_thousands_costs_no_more_for_each() -> None:
    """Each took time in proportion to the line: 20,000 took minutes."""
    callers = [Caller(f"token {number % 200}", number % 20) for number in range(20_000)]
    served = asyncio.run(asyncio.wait_for(order(replace(ONE, waiting=20_000), *callers), 60))
    assert len(served) == len(callers)


def test_nobody_is_left_behind() -> None:
    """After timeouts, cancellations, and turns in any order, no slot and no line is left."""

    async def scenario() -> None:
        slots = Slots()
        bound = replace(ONE, of_caller=2, of_organization=3, of_process=4, waits_s=0.01)

        async def request(number: int) -> None:
            caller = Caller(f"token {number % 7}", number % 3)
            try:
                await slots.take(bound, caller)
            except Problem:
                return
            try:
                await asyncio.sleep(0.001 * (number % 5))
            finally:
                slots.give_back(bound, caller)

        running = [asyncio.create_task(request(number)) for number in range(300)]
        await asyncio.sleep(0.005)
        for task in running[::3]:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        state = slots._classes["one"]
        assert (state.total, state.callers, state.organizations, state.lines) == (0, {}, {}, {})
        assert not state.ready
        assert not state.for_last

    asyncio.run(scenario())
