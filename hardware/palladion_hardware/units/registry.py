"""All units by name. A new one is entered here."""

from __future__ import annotations

from typing import Final

from palladion_hardware.errors import ParameterError
from palladion_hardware.units.athena.extraction import AthenaExtraction
from palladion_hardware.units.athena.fru import AthenaFru
from palladion_hardware.units.athena.generator import AthenaGenerator
from palladion_hardware.units.athena.ntt import AthenaNtt
from palladion_hardware.units.cross.reduction import CrossReduction
from palladion_hardware.units.f1.automorphism import F1Automorphism
from palladion_hardware.units.f1.multiplier import F1Multiplier
from palladion_hardware.units.f1.ntt import F1Ntt
from palladion_hardware.units.hyena.ntt import HyenaNtt
from palladion_hardware.units.hyena.permutation import HyenaPermutation
from palladion_hardware.units.unit import Unit

UNITS: Final[dict[str, type[Unit]]] = {
    unit.name: unit
    for unit in (
        F1Ntt,
        F1Automorphism,
        F1Multiplier,
        AthenaNtt,
        AthenaFru,
        AthenaExtraction,
        AthenaGenerator,
        CrossReduction,
        HyenaNtt,
        HyenaPermutation,
    )
}


def unit_class(name: str) -> type[Unit]:
    """The class of a unit.

    Raises
    ------
    ParameterError
        If there is no unit of this name.
    """
    if name not in UNITS:
        raise ParameterError(f"no unit {name}, there are: {', '.join(UNITS)}")
    return UNITS[name]
