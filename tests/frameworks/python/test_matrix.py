"""What limits admit, next to what they allow: each row of ../matrix.json in each package."""

from __future__ import annotations

import pytest
from django.test import override_settings
from limits_matrix import PACKAGES, ROWS, Package, cell_of


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
@pytest.mark.parametrize("row", ROWS)
def test_a_row(row: str, package: Package) -> None:
    with override_settings():
        cell = cell_of(package, row)
    assert isinstance(cell, str) or (cell.shown and not cell.wrong), cell
