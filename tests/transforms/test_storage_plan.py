"""The plan of how values reach the reverse sweep: what is empty, and what a slot is by default."""

from __future__ import annotations

from dataclasses import fields

from tapec.transforms.storage_plan import Slot, StoragePlan


def test_plans_begin_empty_and_share_nothing():
    first, second = StoragePlan(), StoragePlan()
    assert not any(getattr(first, field.name) for field in fields(first))
    first.stored["x"] = Slot("x_store", (), True)
    first.replayed.add(1)
    assert second == StoragePlan() != first


def test_a_slot_is_one_buffer_that_is_filled_where_the_value_is():
    slot = Slot("x_stack", (), False)
    assert (slot.extents, slot.around, slot.late) == ((), (), False)
