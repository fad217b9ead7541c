"""The one error family.

    FabricError
    ├── MemoryValidationError  (ValueError)       an argument is malformed
    ├── MemoryLimitError       (ValueError)       a size or an option is outside its limit
    ├── MemoryScopeError       (PermissionError)  the run does not say whose memory this is
    ├── MemoryConflictError    (RuntimeError)     someone else wrote first; read again and retry
    ├── EmbedderMismatchError  (ValueError)       vectors of another embedder, or malformed ones
    └── StoreUnavailableError  (RuntimeError)     the store cannot be opened, read or written

Each names the field, what was wrong with it and what to do. None carries stored text, a secret,
a host path or another tenant's data: say the shape of a value, not the value.
"""


class FabricError(Exception):
    """Base of everything this package raises on purpose."""

    def __init__(self, field: str, problem: str, fix: str) -> None:
        super().__init__(field, problem, fix)
        self.field = field
        """The argument, option or key that was wrong."""
        self.problem = problem
        """What was wrong with it, by shape."""
        self.fix = fix
        """What to do about it."""

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}. {self.fix}."


class MemoryValidationError(FabricError, ValueError):
    """An argument is malformed; nothing was written."""


class MemoryLimitError(FabricError, ValueError):
    """A size or an option is outside its limit; nothing was written."""


class MemoryScopeError(FabricError, PermissionError):
    """The scope of the call is missing, malformed or not allowed."""


class MemoryConflictError(FabricError, RuntimeError):
    """An item changed between read and write; the whole batch was refused."""


class EmbedderMismatchError(FabricError, ValueError):
    """The embedder does not fit the stored vectors, or returned malformed ones."""


class StoreUnavailableError(FabricError, RuntimeError):
    """The store cannot be opened, read or written right now."""
