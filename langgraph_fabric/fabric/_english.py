"""English words the guard of `consolidate` decides by, each list with what it is for.

The lists hold closed classes (auxiliaries, kinship, weekdays), not topics: a word that merely would
have helped in one example does not belong here. A word missing from a list keeps two notes.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words("not no never longer anymore")
"""Turn a sentence into its opposite, with the second halves of `no longer` and `not anymore`."""

SCOPE_WORDS = _words("only just even all every always necessarily")
"""Behind a negation only they are denied: `not only tea` does not deny tea."""

DO_SUPPORT = _words("do does")
"""Come and go with a negation: `likes`, `does not like`."""

ARTICLES = _words("a an the s")
"""Tell nothing about a subject; `s` is the possessive."""

INDEFINITE = _words("a an some any")
"""In front of a sentence they speak of one thing among several."""

TIME_PREPOSITIONS = _words("at on")
"""Lead to a time, of which an activity may have several and a thing that *is* then has one."""

CONDITIONS = _words("if when whenever unless except until while once")
"""Make a sentence true at times only, so that its opposite may be true at others."""

COPULAS = _words("am is are")

_IN_OR_AT = _words("in at")
_EMPLOYED = _words("at for as in")
PLACED = (
    dict.fromkeys(COPULAS, _words("in at from"))
    | dict.fromkeys(("live", "lives", "reside", "resides"), _IN_OR_AT)
    | dict.fromkeys(("work", "works"), _EMPLOYED)
)
"""Predicates with one value at a time, and the prepositions that lead to it: one works *at* one
company, but *on* and *with* many things."""

SINGLE_VALUED = frozenset(PLACED) | _words("has have")
"""Predicates behind which a number is a value."""

MANY_VALUED = _words(
    # verbs and adjectives whose objects add up
    "like likes love loves enjoy enjoys hate hates own owns speak speaks know knows visit visits"
    " play plays uses allergic interested fan good member involved proud afraid excited"
    # people and animals of whom one may have several
    " friend friends sister brother sibling son daughter child kid cousin aunt uncle niece nephew"
    " colleague coworker teammate neighbour neighbor roommate student client pet dog cat"
    # pastimes and words that say there are more
    " hobby interest skill one also too another other some sometimes often usually including"
)
"""With these a second value does not end the first."""

PAST = _words(
    "was were did had been became began bought brought broke built came caught chose drew drove ate"
    " fell felt found flew forgot gave got grew heard held kept knew learnt led left lent lost made"
    " meant met paid put ran rode said sang sat saw sent shot slept sold spent spoke stood swam"
    " taught thought threw told took understood went woke won wore wrote ago yesterday last"
)
"""Irregular past forms and past times: what happened stays true. Regular forms end in `-ed`."""

VERBS_BEHIND = SINGLE_VALUED | _words(
    "was were had do does did will would can could should might must shall"
    " runs goes needs wants prefers likes loves uses makes takes gets says comes gives"
)
"""Behind the words that differ they show that these named the subject, not a value. Without `may`,
which is more often the month."""

PREPOSITIONS = _words("for in on at per of to from by with during after before a an each every")
"""May follow a number that is a value: `port 8080 for staging`."""

NUMBERED = _words(
    "invoice ticket issue bug order case task request pr step page chapter section part phase"
    " volume episode season lesson question figure table row line item room flight train bus gate"
    " server node host shard replica week day sprint round game match user customer team hash"
)
"""A number behind these says which one, not how many or how much."""

NUMBERS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
    " hundred thousand million billion once twice"
)

DAYS_AND_MONTHS = _words(
    "monday tuesday wednesday thursday friday saturday sunday today tomorrow january february march"
    " april may june july august september october november december"
)

EXCLUSIVE = (
    _words("single dating engaged married separated divorced widowed"),
    _words("enabled disabled"),
    _words("on off"),
    _words("open closed"),
    _words("active inactive"),
    _words("public private"),
    _words("online offline"),
    _words("allowed forbidden"),
    _words("true false"),
)
"""Values of which one at a time is true. No colours: things of one name have several."""

PROPERTIES = _words(
    "favourite favorite name nickname job occupation profession title role address email phone"
    " password deadline status state region zone timezone language currency budget salary price"
    " rent size age birthday version limit default capital location colour color username"
)
"""Subjects that have one value by what they mean: `her favourite food is ...`."""

CONTINUATIONS = _words(
    "and with in on at for to from by since because as near of during today now currently daily"
    " together again every each who which where"
)
"""A sentence that goes on with these still says what it said; with a noun it may not: `likes tea`,
`likes tea ceremonies`."""
