"""Clean text, labels and captions of imported messages. Pure."""


def clean(text: str) -> str:
    """Return ``text`` without NUL characters and lone surrogates, which Postgres refuses."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode().strip()


def label(text: str | None) -> str:
    """Return a name or title on one line, at most 200 characters; empty for none."""
    if not text:
        return ""
    line = "".join(c if c.isprintable() else " " for c in clean(text))
    return " ".join(line.split())[:200].strip()


def caption(kind: str, name: str = "") -> str:
    """Return the caption of an attachment, such as ``[photo: cat.jpg]``."""
    text = label(name).replace("[", "(").replace("]", ")")
    return f"[{kind}: {text}]" if text else f"[{kind}]"


def kind_of(mime_type: str | None) -> str:
    kind = (mime_type or "").partition("/")[0]
    return {"image": "photo", "video": "video", "audio": "audio"}.get(kind, "file")


def joined(*parts: str) -> str:
    return "\n".join(part for part in map(clean, parts) if part)
