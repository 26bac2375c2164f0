"""PostgreSQL's arithmetic and casts in forms that cannot raise.

PostgreSQL has no TRY_CAST, raises on overflow, on *underflow* and on division by zero, and evaluates constant parts of
an expression before it runs, also inside a CASE whose condition is not yet known. Hence one rule, kept by every form
below: **each operator that may raise stands under a condition over its own operands**. If these are constant, so is the
condition, and PostgreSQL drops the branch unread; if they are not, nothing is computed early. Guards for doubles are
exact (scaling by powers of two loses nothing), so that a value is NULL precisely where IEEE arithmetic has an
infinity, and 0 where it underflows.

Every function takes SQL texts, which should be short: an operand appears several times.
"""

from __future__ import annotations

from typing import Final

LEAST_INTEGER: Final = "'-9223372036854775808'::bigint"
MOST_INTEGER: Final = "'9223372036854775807'::bigint"
_TWO_63: Final = "'9223372036854775808'::double precision"


def real(value: float) -> str:
    """Return a double as a constant, exactly."""
    return f"'{value!r}'::double precision"


def power_of_two(exponent: int) -> str:
    """Return a power of two as a constant; denormal ones are written with their digits."""
    return real(2.0**exponent)


def add_integers(a: str, b: str) -> str:
    """Return a + b, NULL beyond 64 bits."""
    upwards = f"CASE WHEN {a} <= {MOST_INTEGER} - {b} THEN {a} + {b} END"
    downwards = f"CASE WHEN {a} >= {LEAST_INTEGER} - {b} THEN {a} + {b} END"
    return f"(CASE WHEN {b} >= 0 THEN {upwards} WHEN {b} < 0 THEN {downwards} END)"


def subtract_integers(a: str, b: str) -> str:
    """Return a - b, NULL beyond 64 bits."""
    downwards = f"CASE WHEN {a} >= {LEAST_INTEGER} + {b} THEN {a} - {b} END"
    upwards = f"CASE WHEN {a} <= {MOST_INTEGER} + {b} THEN {a} - {b} END"
    return f"(CASE WHEN {b} >= 0 THEN {downwards} WHEN {b} < 0 THEN {upwards} END)"


def multiply_integers(a: str, b: str) -> str:
    """Return a * b, NULL beyond 64 bits."""
    small = f"{a} BETWEEN -3037000499 AND 3037000499 AND {b} BETWEEN -3037000499 AND 3037000499"
    fits = f"{a}::numeric * {b}::numeric BETWEEN {LEAST_INTEGER}::numeric AND {MOST_INTEGER}::numeric"
    return f"(CASE WHEN {small} THEN {a} * {b} WHEN {fits} THEN {a} * {b} END)"


def quotient(a: str, b: str) -> str:
    """Return a / b towards zero; NULL for b = 0 and beyond 64 bits."""
    return f"(CASE WHEN {b} = 0 OR ({b} = -1 AND {a} = {LEAST_INTEGER}) THEN NULL ELSE {a} / {b} END)"


def remainder(a: str, b: str) -> str:
    """Return the remainder of a after division by b as ``quotient`` rounds; NULL for b = 0."""
    return f"(CASE WHEN {b} = 0 THEN NULL ELSE mod({a}, {b}) END)"


def negate_integer(a: str) -> str:
    """Return -a, NULL for the least integer."""
    return f"(CASE WHEN {a} > {LEAST_INTEGER} THEN -{a} END)"


def absolute_integer(a: str) -> str:
    """Return |a|, NULL for the least integer."""
    return f"(CASE WHEN {a} > {LEAST_INTEGER} THEN abs({a}) END)"


def shift_right(a: str, b: str) -> str:
    """Return floor(a / 2^b) for b from 0 to 62."""
    return f"(CASE WHEN {b} BETWEEN 0 AND 62 THEN {a} >> {b}::integer END)"


def sign(a: str) -> str:
    """Return -1, 0 or 1 as an integer."""
    return f"(CASE WHEN {a} > 0 THEN 1 WHEN {a} < 0 THEN -1 WHEN {a} = 0 THEN 0 END)::bigint"


def real_to_integer(a: str, function: str = "floor") -> str:
    """Return ``floor`` or ``ceil`` of a double as an integer, NULL beyond 64 bits."""
    return f"(CASE WHEN {a} >= -{_TWO_63} AND {a} < {_TWO_63} THEN {function}({a})::bigint END)"


def add_reals(a: str, b: str, operator: str = "+") -> str:
    """Return a + b, or a - b, NULL where it would be infinite.

    Halves of numbers of size 1 or more are exact, and so is the question whether half the sum reaches 2^1023. With an
    operand below 1 a sum cannot become infinite.
    """
    total = f"{a} {operator} {b}"
    safe = f"abs({a}) < {power_of_two(1022)} AND abs({b}) < {power_of_two(1022)}"
    half = power_of_two(-1)
    halved = f"abs({a} * {half} {operator} {b} * {half}) < {power_of_two(1023)}"
    return (
        f"(CASE WHEN {safe} THEN {total} WHEN abs({a}) < 1 THEN {total} WHEN abs({b}) < 1 THEN {total}"
        f" WHEN {halved} THEN {total} END)"
    )


def multiply_reals(a: str, b: str) -> str:
    """Return a * b, NULL where it would be infinite, 0 where it underflows."""
    down, up, more = power_of_two(-512), power_of_two(537), power_of_two(538)
    product = f"{a} * {b}"
    overflow = f"CASE WHEN abs(({a} * {down}) * ({b} * {down})) < 1 THEN {product} END"
    # A product vanishes at 2^-1075, and then one factor is at most 2^-537: its scaled value is small, and the other's
    # below 2^538, so that the scaled product neither overflows nor vanishes.
    one_is_tiny = f"abs({a}) <= {power_of_two(-537)} OR abs({b}) <= {power_of_two(-537)}"
    tiny = f"CASE WHEN abs(({a} * {up}) * ({b} * {more})) <= 1 THEN 0 ELSE {product} END"
    underflow = f"CASE WHEN {a} = 0 OR {b} = 0 THEN 0 WHEN {one_is_tiny} THEN {tiny} ELSE {product} END"
    too_large, too_small = f"abs({a}) >= 1 AND abs({b}) >= 1", f"abs({a}) < 1 AND abs({b}) < 1"
    return f"(CASE WHEN {too_large} THEN {overflow} WHEN {too_small} THEN {underflow} ELSE {product} END)"


def divide_reals(a: str, b: str) -> str:
    """Return a / b, NULL for b = 0 and where it would be infinite, 0 where it underflows."""
    result = f"{a} / {b}"
    # Only a dividend of 2^-51 or more can overflow. Both scalings are exact, and the scaled quotient is in range.
    by_small = f"abs({a} / ({b} * {power_of_two(500)})) < {power_of_two(524)}"
    by_tiny = f"abs(({a} * {power_of_two(-300)}) / ({b} * {power_of_two(1000)})) < {power_of_two(-276)}"
    fits = f"CASE WHEN abs({b}) >= {power_of_two(-500)} THEN {by_small} ELSE {by_tiny} END"
    overflow = f"CASE WHEN abs({a}) < {power_of_two(-51)} THEN {result} WHEN {fits} THEN {result} END"
    vanishes = f"abs({a}) * {power_of_two(1000)} <= abs({b}) * {power_of_two(-75)}"
    underflow = f"CASE WHEN abs({a}) >= {power_of_two(-50)} THEN {result} WHEN {vanishes} THEN 0 ELSE {result} END"
    return f"(CASE WHEN {b} = 0 THEN NULL WHEN abs({b}) < 1 THEN {overflow} ELSE {underflow} END)"


def square_root(a: str) -> str:
    """Return the square root, NULL below 0."""
    return f"(CASE WHEN {a} >= 0 THEN sqrt({a}) END)"


def exponential(a: str) -> str:
    """Return e^a: NULL where it would be infinite, 0 where it underflows (the thresholds of correctly rounded exp)."""
    high, low = real(709.782712893384), real(-745.1332191019411)
    return f"(CASE WHEN {a} > {high} THEN NULL WHEN {a} < {low} THEN 0 ELSE exp({a}) END)"


def logarithm(a: str) -> str:
    """Return the natural logarithm, NULL at or below 0."""
    return f"(CASE WHEN {a} > 0 THEN ln({a}) END)"


def power(a: str, b: str) -> str:
    """Return a^b: NULL where it is not a real number or would be infinite, 0 where it underflows.

    The size is first judged by |a|^(b/2), which is far from any limit unless the result is beyond one.
    """
    size = f"abs({a})"
    grows = f"({size} > 1) = ({b} > 0)"
    # Here 1e-300 <= |b| <= 1e20, so that neither the product nor the half power can leave the doubles.
    coarse = f"{b} * ln({size})"
    half = f"power({size}, {b} * {power_of_two(-1)})"
    fine = (
        f"CASE WHEN {half} >= {real(1.3407807929942e154)} THEN NULL"
        f" WHEN {half} <= {real(1.5717277847027e-162)} THEN 0 ELSE power({a}, {b}) END"
    )
    judged = f"CASE WHEN {coarse} > 800 THEN NULL WHEN {coarse} < -800 THEN 0 ELSE {fine} END"
    enormous = f"CASE WHEN {size} = 1 THEN 1 WHEN {grows} THEN NULL ELSE 0 END"
    return (
        f"(CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL"
        f" WHEN {b} = 0 THEN 1"
        f" WHEN {b} = 1 THEN {a}"
        f" WHEN {a} = 0 THEN CASE WHEN {b} > 0 THEN 0 END"
        f" WHEN {a} < 0 AND floor({b}) <> {b} THEN NULL"
        f" WHEN abs({b}) < {real(1e-300)} THEN 1"
        f" WHEN abs({b}) > {real(1e20)} THEN {enormous}"
        f" ELSE {judged} END)::double precision"
    )
