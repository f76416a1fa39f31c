"""Settings in a TOML file and in the environment, whose names are all known."""

import os
import re
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from inspect import isclass
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource

from remembrancer.errors import ConfigurationError
from remembrancer.reasons import wrong_field

FILE = "remembrancer.toml"
"""The name of a settings file in the working directory."""

PREFIX: Final = "REMEMBRANCER_"
"""What the names of variables that are settings begin with."""

_NO_SETTINGS: Final = {
    # What clients are given: in the examples and the documentation.
    "REMEMBRANCER_KEY",
    "REMEMBRANCER_URL",
    # What the tests are given.
    "REMEMBRANCER_TEST_CHROMIUM",
    "REMEMBRANCER_TEST_DATABASE_URL",
    "REMEMBRANCER_TEST_SCREENSHOTS",
}
_OF_SERVICES: Final = re.compile(
    r"(\w+_)?(SERVICE_HOST=.*|SERVICE_PORT(_\w+)?=\d+|PORT=\w+://.*|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?=.*)"
)
"""What Kubernetes gives each container for a service whose name begins with ``remembrancer``."""


class Variables(EnvSettingsSource):
    """The values in the environment."""

    def __call__(self) -> dict[str, Any]:
        """Return the values; raise ``ConfigurationError`` for a variable that is no setting."""
        for variable, value in os.environ.items():
            name = variable.upper()
            if (
                name.startswith(PREFIX)
                and name not in _NO_SETTINGS
                and not _OF_SERVICES.fullmatch(f"{name.removeprefix(PREFIX)}={value}")
            ):
                first = name.removeprefix(PREFIX).partition("__")[0].lower()
                if first not in self.settings_cls.model_fields:
                    path = name.removeprefix(PREFIX).lower().replace("__", ".")
                    raise _unknown_variable(path, self.settings_cls)
        values = super().__call__()
        try:
            _checked(values, self.settings_cls)
        except KeyError as error:
            raise _unknown_variable(error.args[0], self.settings_cls) from None
        return values


def _unknown_variable(path: str, model: type[BaseModel]) -> ConfigurationError:
    near = _nearest(path, model)
    advice = f"did you mean {variable(near)}?" if near else "unset it"
    return ConfigurationError(f"{variable(path)} is not a setting; {advice}")


def variable(path: str) -> str:
    """Return the name of the variable for a setting such as ``server.port``."""
    return PREFIX + path.replace(".", "__").upper()


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
        if "settings" in values:
            raise KeyError("settings")
        found = _checked(values, model, file.parent)
        for name, value in found.items():
            model.__pydantic_validator__.validate_assignment(model.model_construct(), name, value)
    except ValidationError as error:
        path, reason = wrong_field(error.errors(include_input=False, include_url=False)[0])
        raise ConfigurationError(f"{file}: {'.'.join(path)}: {reason}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file}: is not a text in UTF-8") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigurationError(f"the settings file {file} cannot be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{file}: is not valid TOML: {error}") from None
    except KeyError as error:
        [key] = error.args
        near = _nearest(key, model)
        advice = f"did you mean {near}?" if near else "leave it out"
        raise ConfigurationError(f"{file}: {key} is not a setting; {advice}") from None
    return found


def names(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Yield the dotted names of the settings and of their groups."""
    for name, field in model.model_fields.items():
        yield path + name
        if group := _group(field):
            yield from names(group, f"{path}{name}.")


def _nearest(path: str, model: type[BaseModel]) -> str | None:
    """Return the name that is most like a wrong one, of those that may be there."""
    known = [*names(model)]
    group, _, _ = path.rpartition(".")
    for field_path in [*known]:
        # A mapping such as that of servers, whose entries have names of their own.
        entry = _entry_of(_field(model, field_path))
        if entry and group.startswith(f"{field_path}."):
            known += [f"{group}.{name}" for name in entry.model_fields]
    near = get_close_matches(path, known, 1)
    # Without its group it is like none of them.
    near += [name for name in known if name.endswith(f".{path}")]
    return near[0] if near else None


def _field(model: type[BaseModel], path: str) -> FieldInfo:
    *groups, name = path.split(".")
    for group in groups:
        inner = _group(model.model_fields[group])
        assert inner is not None
        model = inner
    return model.model_fields[name]


def _group(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isclass(kind) and issubclass(kind, BaseModel) else None


def _entry_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of each entry of a mapping."""
    kinds = get_args(field.annotation) if get_origin(field.annotation) is dict else ()
    kind = kinds[-1] if kinds else None
    return kind if isclass(kind) and issubclass(kind, BaseModel) else None


def _checked(
    values: dict[str, object], model: type[BaseModel], folder: Path | None = None, path: str = ""
) -> dict[str, object]:
    """Return the values, with paths as seen from a directory.

    Raises ``KeyError`` with the name of the first that is no setting.
    """
    found = dict(values)
    for name, value in values.items():
        field = model.model_fields.get(name)
        if field is None:
            raise KeyError(path + name)
        if (group := _group(field)) and isinstance(value, dict):
            found[name] = _checked(value, group, folder, f"{path}{name}.")
        elif (entry := _entry_of(field)) and isinstance(value, dict):
            found[name] = {
                key: _checked(each, entry, folder, f"{path}{name}.{key}.")
                if isinstance(each, dict)
                else each
                for key, each in value.items()
            }
        elif (
            folder
            and isinstance(value, str)
            and Path in (field.annotation, *get_args(field.annotation))
        ):
            found[name] = folder / Path(value).expanduser()
    return found
