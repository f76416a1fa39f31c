"""Settings in a TOML file."""

import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from inspect import isclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from remembrancer.errors import ConfigurationError

FILE = "remembrancer.toml"
"""The name of a settings file in the working directory."""


class SettingsFile(PydanticBaseSettingsSource):
    """The values in the file that ``settings`` names, or in the one in the working directory."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[object, str, bool]:
        """Return nothing: all values come at once."""
        del field
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the values in the file, if there is one.

        Raises ``ConfigurationError`` for a file that cannot be read, an unknown name, and a wrong
        value.
        """
        named = self.current_state.get("settings", FILE if Path(FILE).exists() else None)
        if not named:
            return {}
        file = Path(named).expanduser().absolute()
        return {**read(file, self.settings_cls), "settings": file}


def read(file: Path, model: type[BaseSettings]) -> dict[str, object]:
    """Return the values in a file, with paths as seen from its directory."""
    try:
        values = tomllib.loads(file.read_text("utf-8"))
        found = _checked(values, model, file.parent)
        for name, value in found.items():
            model.__pydantic_validator__.validate_assignment(model.model_construct(), name, value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"{file}: {key}: {first['msg']}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file}: is not a text in UTF-8") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigurationError(f"the settings file {file} cannot be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{file}: is not valid TOML: {error}") from None
    except KeyError as error:
        [key] = error.args
        near = get_close_matches(key, [*names(model)], 1)
        advice = f"did you mean {near[0]}?" if near else "leave it out"
        raise ConfigurationError(f"{file}: {key} is not a setting; {advice}") from None
    return found


def names(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Yield the dotted names of the settings and of their groups."""
    for name, field in model.model_fields.items():
        yield path + name
        if group := _group(field):
            yield from names(group, f"{path}{name}.")


def _group(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isclass(kind) and issubclass(kind, BaseModel) else None


def _checked(
    values: dict[str, object], model: type[BaseModel], folder: Path, path: str = ""
) -> dict[str, object]:
    found = dict(values)
    for name, value in values.items():
        field = model.model_fields.get(name)
        if field is None or path + name == "settings":
            raise KeyError(path + name)
        if (group := _group(field)) and isinstance(value, dict):
            found[name] = _checked(value, group, folder, f"{path}{name}.")
        elif isinstance(value, str) and Path in (field.annotation, *get_args(field.annotation)):
            found[name] = folder / Path(value).expanduser()
    return found
