"""OPS.md says what is compared with PyTorch; it is generated, and must not be out of date."""

from minigrad.core.op import REGISTRY
from tests.against_torch import table


def test_the_committed_table_is_the_one_that_is_generated():
    assert table.PAGE.read_text(encoding="utf-8") == table.page(), (
        "run python -m tests.against_torch.table"
    )


def test_what_the_table_excepts_exists():
    assert {name for name, _ in table.NOT_COMPARED} <= set(REGISTRY)
    assert {*table.REMARKS, *table.EXTRA_NAMES} <= set(REGISTRY)


def test_every_op_of_the_table_has_a_name():
    written = table.sources()

    assert [
        op.name
        for op in REGISTRY.values()
        if not (op.name in table.EXTRA_NAMES or table.names_of(op, written))
    ] == []
