"""The available what-if models, as the areas declare them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from jitterscope.diagnosis.core.area import Control, WhatIf
from jitterscope.diagnosis.core.registry import all_areas
from jitterscope.diagnosis.core.whatif import InvalidSettingError, Settings, Value
from jitterscope.errors import not_found
from jitterscope.whatif import schemas


def listed(cause_id: str | None) -> list[schemas.WhatIfModel]:
    """All models, or those that apply to incidents of a cause."""
    found = []
    for area in all_areas().values():
        for model in area.whatifs:
            of_area = cause_id is None or cause_id.partition("/")[0] == area.id
            if of_area and (cause_id is None or not model.causes or cause_id in model.causes):
                controls = [schemas.WhatIfControl.model_validate(asdict(one)) for one in model.controls]
                found.append(
                    schemas.WhatIfModel(
                        id=model.id,
                        area=area.id,
                        title=model.title,
                        summary=model.summary,
                        subject=model.subject,
                        controls=controls,
                    )
                )
    return found


def named(model_id: str) -> WhatIf:
    """One model. Raises Problem 404."""
    for area in all_areas().values():
        for model in area.whatifs:
            if model.id == model_id:
                return model
    raise not_found("what-if model", model_id)


def checked(model: WhatIf, given: list[schemas.Settings]) -> tuple[Settings, ...]:
    """Settings within the bounds of the controls. Raises InvalidSettingError."""
    controls = {one.id: one for one in model.controls}
    return tuple(_checked(number, controls, one) for number, one in enumerate(given))


def _checked(number: int, controls: Mapping[str, Control], given: schemas.Settings) -> Settings:
    result: dict[str, Value] = {}
    for name, value in given.items():
        control = controls.get(name)
        if control is None:
            known = ", ".join(controls)
            raise InvalidSettingError(number, name[:100], f"There is no control of this name. Use one of {known}.")
        result[name] = _value(number, control, value)
    return result


def _value(number: int, control: Control, value: schemas.Value) -> Value:
    if value is None:
        return None
    if control.unit == "names":
        if not isinstance(value, list):
            raise InvalidSettingError(number, control.id, "It takes a list of names.")
        return tuple(value)
    if control.unit == "choice":
        if value not in control.choices:
            raise InvalidSettingError(number, control.id, f"Use one of {', '.join(control.choices)}.")
        return str(value)
    if not isinstance(value, int | float):
        raise InvalidSettingError(number, control.id, "It takes a number.")
    least, most = control.least, control.most
    if (least is not None and value < least) or (most is not None and value > most):
        bounds = f"at least {least:g}" if most is None else f"between {least or 0:g} and {most:g}"
        raise InvalidSettingError(number, control.id, f"{control.title} must be {bounds} ({control.unit}).")
    return float(value)
