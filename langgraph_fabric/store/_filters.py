"""Filters: one meaning, decided in Python over an item's value.

`{"key": value}` wants an equal value. `{"key": {"$gt": 1, "$lt": 5}}` wants all its comparisons. A
nested dict without operators wants a subset: `{"a": {"b": 1}}` matches `{"a": {"b": 1, "c": 2}}`,
and `{}` any dict.
`$and`, `$or` take lists of filters, `$not` takes one filter. A dot in a key is a character of it.

Numbers compare with numbers and strings with strings; anything else matches no comparison, and
neither does a missing key. `True` is not 1. `$ne`, `$nin` and `$exists: False` match a missing key,
and so does None, as in LangGraph's in-memory store.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langgraph_fabric.errors import MemoryValidationError

Predicate = Callable[[Mapping[str, Any]], bool]

_MISSING = object()


def compile_filter(conditions: Mapping[str, Any] | None) -> Predicate | None:
    """Return the test a filter stands for; None if it lets everything pass.

    Raises:
        MemoryValidationError: It names an operator that does not exist, or is malformed.
    """
    if conditions is not None and not isinstance(conditions, Mapping):
        raise MemoryValidationError("filter", "not a dict", "Give a dict of conditions")
    if not conditions:
        return None
    tests = [_condition(key, wanted) for key, wanted in conditions.items()]
    return lambda value: all(test(value) for test in tests)


def _condition(key: object, wanted: Any) -> Predicate:
    if not isinstance(key, str):
        raise MemoryValidationError("filter", "a key is no string", "Give strings for keys")
    if key in _JOINERS:
        return _JOINERS[key](wanted)
    if key.startswith("$"):
        raise _unknown(key)
    test = _field_test(wanted)
    return lambda value: test(value.get(key, _MISSING))


def _field_test(wanted: Any) -> Callable[[Any], bool]:
    if not isinstance(wanted, Mapping):
        return lambda found: equal(found, wanted)
    conditions = cast("Mapping[str, Any]", wanted)
    if not any(str(key).startswith("$") for key in conditions):
        inner = compile_filter(conditions) or _anything
        return lambda found: isinstance(found, Mapping) and inner(cast("Mapping[str, Any]", found))
    tests = [_comparison(name, operand) for name, operand in conditions.items()]
    return lambda found: all(test(found) for test in tests)


def _anything(_value: Mapping[str, Any]) -> bool:
    return True


def _comparison(name: object, operand: Any) -> Callable[[Any], bool]:
    make = _OPERATORS.get(cast("str", name))
    if make is None:
        raise _unknown(name)
    return make(operand)


def equal(found: Any, wanted: Any) -> bool:
    """Tell whether two JSON values are the same; 1 is 1.0 but not True, and missing is None."""
    if found is _MISSING:
        return wanted is None
    if isinstance(found, bool) is not isinstance(wanted, bool):
        return False
    if isinstance(found, list | tuple) and isinstance(wanted, list | tuple):
        left, right = cast("Sequence[Any]", found), cast("Sequence[Any]", wanted)
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        ours, theirs = cast("Mapping[Any, Any]", found), cast("Mapping[Any, Any]", wanted)
        return ours.keys() == theirs.keys() and all(equal(ours[k], theirs[k]) for k in ours)
    return bool(found == wanted)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any], Callable[[Any], bool]]:
    def make(operand: Any) -> Callable[[Any], bool]:
        kind = _kind(operand)
        return lambda found: kind is not None and _kind(found) == kind and compare(found, operand)

    return make


def _kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    return (
        "number" if isinstance(value, int | float) else "text" if isinstance(value, str) else None
    )


def _member(operand: Any) -> Callable[[Any], bool]:
    if not isinstance(operand, list | tuple):
        raise MemoryValidationError("filter", "$in or $nin without a list", "Give a list of values")
    options = cast("Sequence[Any]", operand)
    return lambda found: any(equal(found, option) for option in options)


def _negated(
    make: Callable[[Any], Callable[[Any], bool]],
) -> Callable[[Any], Callable[[Any], bool]]:
    def negated(operand: Any) -> Callable[[Any], bool]:
        test = make(operand)
        return lambda found: not test(found)

    return negated


def _equals(operand: Any) -> Callable[[Any], bool]:
    return lambda found: equal(found, operand)


def _exists(operand: Any) -> Callable[[Any], bool]:
    return lambda found: (found is not _MISSING) is bool(operand)


def _not_field(operand: Any) -> Callable[[Any], bool]:
    test = _field_test(operand)
    return lambda found: not test(found)


_OPERATORS: Mapping[str, Callable[[Any], Callable[[Any], bool]]] = {
    "$eq": _equals,
    "$ne": _negated(_equals),
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
    "$in": _member,
    "$nin": _negated(_member),
    "$exists": _exists,
    "$not": _not_field,
}


def _parts(operand: Any, name: str) -> list[Predicate]:
    if not isinstance(operand, list | tuple):
        raise MemoryValidationError("filter", f"{name} without a list", "Give a list of filters")
    parts = [compile_filter(_mapping(part, name)) for part in cast("Sequence[Any]", operand)]
    return [part or _anything for part in parts]


def _mapping(part: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(part, Mapping):
        raise MemoryValidationError("filter", f"{name} of something else", "Give filters as dicts")
    return cast("Mapping[str, Any]", part)


def _all_of(operand: Any) -> Predicate:
    parts = _parts(operand, "$and")
    return lambda value: all(part(value) for part in parts)


def _any_of(operand: Any) -> Predicate:
    parts = _parts(operand, "$or")
    return lambda value: any(part(value) for part in parts)


def _none_of(operand: Any) -> Predicate:
    part = compile_filter(_mapping(operand, "$not"))
    return lambda value: part is not None and not part(value)


_JOINERS: Mapping[str, Callable[[Any], Predicate]] = {
    "$and": _all_of,
    "$or": _any_of,
    "$not": _none_of,
}


def _unknown(name: object) -> MemoryValidationError:
    known = ", ".join([*_OPERATORS, "$and", "$or"])
    return MemoryValidationError(
        "filter", f"unsupported operator {str(name)[:40]!r}", f"Use {known}"
    )
