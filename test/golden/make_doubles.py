#!/usr/bin/env python3
"""Writes doubles.hpp: hard texts and the bits of the double nearest to each.

Only whole numbers of any size are calculated with, never a float, so that no library's rounding is in
the table. Run it in this folder: ./make_doubles.py > doubles.hpp
"""

import random

LARGEST = 0x7FEFFFFFFFFFFFFF


def parts(bits):
    """A positive double as mantissa * 2**exponent."""
    exponent, mantissa = bits >> 52, bits & (1 << 52) - 1
    return (mantissa, -1074) if exponent == 0 else (mantissa | 1 << 52, exponent - 1075)


def decimal(mantissa, exponent):
    """mantissa * 2**exponent as digits * 10**power, exactly."""
    if exponent >= 0:
        return mantissa << exponent, 0
    return mantissa * 5**-exponent, exponent


def nearest(digits, power):
    """The bits of the double nearest to digits * 10**power, to even where two are as near."""
    numerator, denominator = (digits * 10**power, 1) if power >= 0 else (digits, 10**-power)
    low, high = 0, LARGEST + 1  # the last double that is not above the number: by halves
    while high - low > 1:
        middle = (low + high) // 2
        mantissa, exponent = parts(middle)
        above = (mantissa << exponent) * denominator > numerator if exponent >= 0 \
            else mantissa * denominator > numerator << -exponent
        low, high = (low, middle) if above else (middle, high)
    mantissa, exponent = parts(low)
    # Twice the number against the sum of the double and the next one, infinity's place included.
    between = 2 * mantissa + 1
    left, right = (numerator * 2, (between << exponent) * denominator) if exponent >= 0 \
        else (numerator << 1 - exponent, between * denominator)
    return low + (left > right or (left == right and low % 2 == 1))


def texts(digits, power, rng):
    """One spelling with an exponent and, where it is not too long, one without."""
    s = str(digits)
    if rng.random() < 0.5:
        yield f"{s[0]}.{s[1:] or '0'}e{power + len(s) - 1}"
    else:
        yield f"{s}E{power:+}"
    if 0 <= power < 40:
        yield s + "0" * power + (".000" if rng.random() < 0.5 else "")
    elif -power >= len(s) and -power < len(s) + 20:
        yield "0." + "0" * (-power - len(s)) + s
    elif -power < len(s) and power < 0:
        yield s[:power] + "." + s[power:]


def main():
    rng = random.Random(1)
    one = 0x3FF << 52
    doubles = [1, 2, 3, (1 << 51) - 1, (1 << 52) - 2, (1 << 52) - 1, 1 << 52, (1 << 52) + 1,
               one - 1, one, one + 1,
               (0x3FF + 53 << 52) - 1, 0x3FF + 53 << 52, (0x3FF + 53 << 52) + 1, (0x3FF + 63) << 52,
               nearest(1, 22), nearest(1, 23), nearest(1, 21), nearest(1, -7), nearest(1, -22),
               nearest(1, -23), LARGEST - 1, LARGEST]
    doubles += [rng.randrange(1, 1 << 52) for _ in range(6)]
    doubles += [rng.randrange(1 << 52, LARGEST) for _ in range(6)]
    doubles += [rng.randrange(0x3C0 << 52, 0x440 << 52) for _ in range(40)]

    numbers = [(0, 0), (0, 400), (1, -400), (1, 400), (1, 309), (17976931348623158, 292),
               (17976931348623159, 292), (24703282292062327, -340), (24703282292062328, -340),
               (49, -325), (9007199254740991, 0), (9007199254740993, 0), (9007199254740993, 22),
               (9007199254740992, 22), (9007199254740991, 22), (9007199254740991, -22),
               (9007199254740991, 23), (18446744073709551615, 0), (18446744073709551616, 0),
               (9223372036854775807, 0), (22250738585072011, -324), (22250738585072014, -324)]
    for bits in doubles:
        mantissa, exponent = parts(bits)
        numbers.append(decimal(mantissa, exponent))
        for middle in (2 * mantissa - 1, 2 * mantissa + 1):  # half-way to the neighbours
            digits, power = decimal(middle, exponent - 1)
            numbers += [(digits, power), (digits * 10 - 1, power - 1), (digits * 10 + 1, power - 1),
                        (digits * 10**30 + 1, power - 30)]

    print("// test/golden/doubles.hpp — hard texts and the bits of the double nearest to each.")
    print("//")
    print("// Made by make_doubles.py beside it, by whole-number arithmetic alone: doubles at the borders of")
    print("// the subnormals, of 2^53 and of the greatest double, and others; the numbers half-way to their")
    print("// neighbours, and what lies a little above and below those. The bits of infinity say that the")
    print("// number is too large.")
    print("#pragma once")
    print()
    print("#include <cstdint>")
    print("#include <string_view>")
    print()
    print("namespace test {")
    print()
    print("struct hard_double {")
    print("  std::string_view text;")
    print("  std::uint64_t bits;")
    print("};")
    print()
    print("// clang-format off")
    print("inline constexpr hard_double hard_doubles[]{")
    seen = set()
    for digits, power in numbers:
        bits = nearest(digits, power)
        for text in texts(digits, power, rng):
            if text in seen:
                continue
            seen.add(text)
            print(f'    {{"{text}", 0x{bits:016X}}},')
    print("};")
    print("// clang-format on")
    print()
    print("}  // namespace test")


main()
