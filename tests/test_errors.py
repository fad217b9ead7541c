import pickle

import pytest

from langgraph_fabric import errors

BUILTINS = {
    errors.MemoryValidationError: ValueError,
    errors.MemoryLimitError: ValueError,
    errors.MemoryScopeError: PermissionError,
    errors.MemoryConflictError: RuntimeError,
    errors.EmbedderMismatchError: ValueError,
    errors.StoreUnavailableError: RuntimeError,
}


def test_every_error_is_in_the_table():
    leaves = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and value is not errors.FabricError
    }
    assert leaves == set(BUILTINS)


@pytest.mark.parametrize(("error", "builtin"), BUILTINS.items())
class TestEach:
    def test_is_caught_as_the_builtin_python_would_raise(self, error, builtin):
        assert issubclass(error, errors.FabricError)
        assert issubclass(error, builtin)

    def test_says_field_problem_and_fix(self, error, builtin):  # noqa: ARG002 - one table for all
        raised = error("top_k", "33 is above the cap of 32", "Ask for fewer")
        assert str(raised) == "top_k: 33 is above the cap of 32. Ask for fewer."
        assert (raised.field, raised.fix) == ("top_k", "Ask for fewer")

    def test_survives_a_pickle(self, error, builtin):  # noqa: ARG002 - one table for all
        raised = error("top_k", "33 is above the cap of 32", "Ask for fewer")
        copied = pickle.loads(pickle.dumps(raised))  # noqa: S301 - our own bytes
        assert type(copied) is error
        assert str(copied) == str(raised)
        assert copied.problem == raised.problem
