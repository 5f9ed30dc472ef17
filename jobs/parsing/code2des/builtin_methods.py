"""Methods of built-in types: an unknown receiver most probably is one of those.

Written down once, for asked of the interpreter the answer would change with its version.
"""

from __future__ import annotations

_NAMES = """
    Add Any Close Contains Count Equals Error First GetHashCode Len Read Remove Select
    String ToList ToString Where Write add addAll all append apply as_str back begin bind
    c_str call cap capitalize casefold center charAt clear clone close collect compareTo
    concat contains containsKey copy count critical data debug decode delete detect
    difference difference_update discard each emit empty encode end endswith entries equals
    erase error every exception exec expandtabs expect extend filter finally find findIndex
    flush fmt forEach format format_map from fromhex fromkeys front get getOrDefault group
    groups has hasNext hashCode hex ifPresent includes index indexOf info inject insert
    intersection intersection_update into into_iter isEmpty isalnum isalpha isascii
    isdecimal isdigit isdisjoint isidentifier islower isnumeric isprintable isspace issubset
    issuperset istitle isupper items iter iterator join keys len length ljust log lower
    lstrip maketrans map match next nil of off on once open orElse orElseThrow partition pop
    popitem print printf println push push_back put read reduce reject remove removeprefix
    removesuffix replace require resolve reverse rfind rindex rjust rpartition rsplit rstrip
    search seek send set setdefault shift size slice some sort split splitlines startswith
    stream strip substring swapcase symmetric_difference symmetric_difference_update test
    then throw title toJSON toList toLowerCase toString toUpperCase to_a to_h to_i to_s
    to_string translate trim union unshift unwrap update upper valueOf values warn warning
    write zfill
"""
BUILTIN_METHODS = frozenset(_NAMES.split())
