"""Who is unique is found where nothing is redacted, and nobody is where nothing is left.

Else nothing is claimed.
"""

import json
import random

import pytest

from deid_assets.core.span import DisjointSpans
from deid_assets.extending import InputError, Note, Phi, Span
from deid_assets.extending.audits import Case, Key, Material, Outcome, Policy, load_policy
from deid_assets.privacy.running import run_audit
from deid_reidentification import Reidentification
from deid_reidentification.attacks import RecordIndex, link, singling_out
from deid_reidentification.people import (
    KINDS,
    Person,
    QuasiIdentifierKind,
    covers,
    find_left,
    people_of,
    read_population,
    records_of,
    split,
)

KEY = Key(bytes(range(32)))
KEPT = Policy("kept", lambda text, _span, _context: text, keep=frozenset(Phi))
GONE = Policy("gone", lambda _text, _span, _context: "[X]")
WARDS = ("Ashford", "Borley", "Camden", "Dunmore", "Elstow")
TRADES = ("baker", "carpenter", "diver", "engineer", "florist", "glazier")


def case(number, story="was seen"):
    """One note of a patient with an age, a place, a trade, a date and a hospital, unlike those of
    most others.
    """
    draw = random.Random(number)
    values = [
        (Phi.AGE, str(20 + draw.randrange(60))),
        (Phi.CITY, draw.choice(WARDS)),
        (Phi.PROFESSION, draw.choice(TRADES)),
        (Phi.DATE, f"{1 + draw.randrange(28)} May {2000 + draw.randrange(20)}"),
        (Phi.HOSPITAL, f"{draw.choice(WARDS)} House {draw.randrange(9)}"),
    ]
    text, spans = f"Patient {story}:", []
    for label, value in values:
        spans.append(Span(len(text) + 1, len(text) + 1 + len(value), label))
        text += f" {value}"
    note = Note(f"n{number}", f"{text}.", f"p{number}", "en")
    gold = DisjointSpans.of(note, spans)
    return Case(note, gold, gold)


CASES = [case(number) for number in range(64)]


def test_people_have_the_values_of_their_notes():
    people = people_of([case(1), case(2, story="was stricken by lightning")])

    assert set(people["p1"].values) >= {
        QuasiIdentifierKind.AGE,
        QuasiIdentifierKind.PLACE,
        QuasiIdentifierKind.PROFESSION,
        QuasiIdentifierKind.DATE,
        QuasiIdentifierKind.ITINERARY,
    }
    assert {"lightning", "stricken"} <= people["p2"].values[QuasiIdentifierKind.FACT]
    assert "patient" not in people["p1"].values.get(QuasiIdentifierKind.FACT, ())


def test_a_range_and_a_year_give_the_value_away():
    rounded = Policy(
        "r", GONE.default, {Phi.AGE: lambda *_: "40-49", Phi.DATE: lambda text, *_: text[-4:]}
    )
    (record,) = records_of([case(1)], rounded, key=KEY).values()
    date = next(iter(people_of([case(1)])["p1"].values[QuasiIdentifierKind.DATE]))

    assert [record.holds(QuasiIdentifierKind.AGE, age) for age in ("39", "40", "49", "50")] == [
        False,
        True,
        True,
        False,
    ]
    assert record.holds(QuasiIdentifierKind.DATE, date)
    assert not record.holds(QuasiIdentifierKind.PLACE, "ashford")


def test_what_was_missed_stands_in_the_record():
    whole = case(1)
    half = Case(whole.note, whole.gold, DisjointSpans.of(whole.note, list(whole.gold)[1:]))
    (record,) = records_of([half], GONE, key=KEY).values()

    assert record.holds(
        QuasiIdentifierKind.AGE,
        next(iter(people_of([whole])["p1"].values[QuasiIdentifierKind.AGE])),
    )
    assert not record.holds(
        QuasiIdentifierKind.PLACE,
        next(iter(people_of([whole])["p1"].values[QuasiIdentifierKind.PLACE])),
    )


def test_the_more_is_known_the_more_are_linked():
    people = list(people_of(CASES).values())
    release = RecordIndex(list(records_of(CASES, KEPT, key=KEY).values()), people, seed=1)

    one, every = (link(release, people, attributes=count)[0] for count in (1, 5))
    assert one < every == len(people)


def test_a_record_singles_out_its_person_and_no_other():
    own, others = split(CASES, key=KEY, least=20)
    released, rest = (list(people_of(half).values()) for half in (own, others))
    arms = singling_out(
        RecordIndex(list(records_of(own, KEPT, key=KEY).values()), released, seed=1), released, rest
    )

    assert arms.main[0] > 0.8 * arms.main[1]
    assert arms.control[0] < 0.2 * arms.control[1]
    assert arms.baseline[0] < 0.2 * arms.baseline[1]


def test_a_policy_that_leaves_nothing_passes_and_one_that_leaves_all_fails():
    result = run_audit(
        Reidentification(most_linked=0.3), Material(key=KEY, cases=CASES, policies=[GONE, KEPT])
    )
    passed = {rule.name: rule.passed for rule in result.rules}

    assert result.outcome is Outcome.FAILED
    assert passed == {
        "attacks under gone": True,
        "linkage under gone": True,
        "attacks under kept": False,
        "linkage under kept": False,
    }
    assert all(control.held for control in result.controls)
    assert result.plots[0].png.startswith(b"\x89PNG")
    held = {row[:2]: row[2].value for row in result.tables[0].rows}
    assert (held["gone", "age"], held["kept", "age"]) == (0, 1)


def test_a_rare_history_is_counted_though_every_identifier_is_gone():
    """Two people were struck by lightning.

    That and no more is left of them, and nothing of the others.
    """
    cases = [
        *CASES[:60],
        *(case(number, story="was stricken by lightning") for number in range(60, 64)),
    ]
    result = run_audit(Reidentification(), Material(key=KEY, cases=cases, policies=[GONE]))
    held = {row[:2]: row[2].value for row in result.tables[0].rows}

    assert (held["gone", "rare fact"], held["gone", "place"]) == (1, 0)


@pytest.mark.long
def test_one_seed_gives_one_answer():
    one, again = (
        run_audit(Reidentification(), Material(key=KEY, seed=5, cases=CASES[:60], policies=[KEPT]))
        for _ in range(2)
    )

    assert one == again


def test_where_the_attack_fails_on_the_notes_themselves_nothing_is_proved():
    alike = [
        Case(*(getattr(twin, name) for name in ("note", "gold", "found"))) for twin in _alike(60)
    ]
    result = run_audit(Reidentification(), Material(key=KEY, cases=alike, policies=[GONE]))

    assert (result.outcome, "did not react" in result.reason) == (Outcome.VOID, True)


def _alike(count):
    """Return the notes of many patients about whom the same is written."""
    first = case(1)
    for number in range(count):
        note = Note(f"n{number}", first.note.text, f"p{number}", "en")
        spans = DisjointSpans.of(note, list(first.gold))
        yield Case(note, spans, spans)


def test_too_few_patients_are_one_line():
    result = run_audit(Reidentification(), Material(key=KEY, cases=CASES[:20], policies=[GONE]))

    assert result.outcome is Outcome.NOT_ASSESSED
    assert "20 are needed for an interval" in result.reason


@pytest.mark.long
def test_a_given_population_makes_people_less_unique(tmp_path):
    people = tmp_path / "people.jsonl"
    lines = [{"AGE": str(age), "CITY": WARDS, "PROFESSION": TRADES} for age in range(20, 80)] * 2
    people.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    shown = Policy("shown", GONE.default, keep=frozenset({Phi.AGE, Phi.CITY}))

    def unique(population):
        material = Material(key=KEY, cases=CASES, policies=[shown], population=population)
        table = run_audit(Reidentification(), material).tables[0]
        return next(row[2].value for row in table.rows if "nobody else" in row[1])

    assert unique(None) > 0.3
    assert unique(people) == 0


@pytest.mark.parametrize("line", ["[]", "{", '{"AGE": 7}', '{"EYES": "blue"}', ""])
def test_a_wrong_population_names_the_line(tmp_path, line):
    people = tmp_path / "people.jsonl"
    people.write_text(line)

    with pytest.raises(InputError, match=r"line 1|is empty"):
        read_population(people)


def test_synthetic_people_can_be_added():
    made = run_audit(
        Reidentification(made="synthetic:en:60:3"),
        Material(key=KEY, cases=CASES[:60], policies=[GONE]),
    )

    assert made.counts["population"] > 60


def test_ties_are_broken_by_a_draw():
    records = [
        Person(f"r{number}", {QuasiIdentifierKind.AGE: frozenset({"40"})}) for number in range(50)
    ]
    release = RecordIndex(records, records, seed=3)

    assert len({release.nearest({QuasiIdentifierKind.AGE: "40"})[0] for _ in range(30)}) > 5
    assert release.nearest({QuasiIdentifierKind.AGE: "41"})[1] is False


def sharing_of(cases, policy):
    """Return the rows of patients who share what is left with nobody, and with fewer than five."""
    table = run_audit(Reidentification(), Material(key=KEY, cases=cases, policies=[policy])).tables[
        0
    ]
    return [row[2].value for row in table.rows if "share" in row[1]]


def dated(number, value, label=Phi.DATE):
    """One note with one value, beside a ward that the policy takes out."""
    text = f"Seen {value} in Ashford {number % 7} House {number}."
    ward = f"Ashford {number % 7} House {number}"
    spans = [
        Span(5, 5 + len(value), label),
        Span(text.index(ward), text.index(ward) + len(ward), Phi.HOSPITAL),
    ]
    note = Note(f"n{number}", text, f"p{number}", "en")
    gold = DisjointSpans.of(note, spans)
    return Case(note, gold, gold)


def to_band(text, _span, _context):
    low = int(text[:2]) // 10 * 10
    return f"{low}-{low + 9}"


def to_month(text, *_):
    _day, name, year = text.split()
    return f"{year}-{('May', 'June', 'July').index(name) + 5:02}"


COARSER = {
    "year": (
        Policy("y", GONE.default, {Phi.DATE: lambda text, *_: text[-4:]}),
        [dated(n, f"{1 + n % 28} {('May', 'June', 'July')[n // 28]} 2019") for n in range(78)],
    ),
    "month": (
        Policy("m", GONE.default, {Phi.DATE: to_month}),
        [dated(n, f"{1 + n % 28} {('May', 'June', 'July')[n // 28]} 2019") for n in range(78)],
    ),
    "month in words": (
        Policy("m", GONE.default, {Phi.DATE: lambda text, *_: " ".join(text.split()[1:])}),
        [dated(n, f"{1 + n % 28} {('May', 'June', 'July')[n // 28]} 2019") for n in range(78)],
    ),
    "month of a date in numbers": (
        Policy("m", GONE.default, {Phi.DATE: lambda text, *_: f"{text[-4:]}-{text[:2]}"}),
        [dated(n, f"{5 + n // 28:02}/{1 + n % 28:02}/2019") for n in range(78)],
    ),
    "three digits of a ZIP code": (
        Policy("z", GONE.default, {Phi.ZIP: lambda text, *_: f"{text[:3]}XX"}),
        [dated(n, f"0213{n % 10}", Phi.ZIP) for n in range(78)],
    ),
    "three digits of a ZIP code and stars": (
        Policy("z", GONE.default, {Phi.ZIP: lambda text, *_: f"{text[:3]}**"}),
        [dated(n, f"0213{n % 10}-{1000 + n}", Phi.ZIP) for n in range(78)],
    ),
    "a small area's ZIP code": (
        Policy("z", GONE.default, {Phi.ZIP: lambda *_: "000XX"}),
        [dated(n, f"{('036', '059', '102')[n % 3]}0{n % 10}", Phi.ZIP) for n in range(78)],
    ),
    "band": (
        Policy("b", GONE.default, {Phi.AGE: to_band}),
        [dated(n, str(40 + n % 10), Phi.AGE) for n in range(78)],
    ),
    "band of ages in words": (
        Policy("b", GONE.default, {Phi.AGE: to_band}),
        [dated(n, f"{40 + n % 10}-year-old", Phi.AGE) for n in range(78)],
    ),
}


@pytest.mark.parametrize("name", COARSER)
def test_who_shares_the_coarser_value_that_is_left_is_not_unique(name):
    policy, cases = COARSER[name]
    assert sharing_of(cases, policy) == [0, 0]


@pytest.mark.parametrize(
    ("kind", "written", "value", "held"),
    [
        (QuasiIdentifierKind.DATE, "2019-05", "3 may 2019", True),
        (QuasiIdentifierKind.DATE, "2019-05", "3. mai 2019", True),
        (QuasiIdentifierKind.DATE, "mayo de 2019", "03/05/2019", True),
        (QuasiIdentifierKind.DATE, "2019-06", "3 may 2019", False),
        (QuasiIdentifierKind.DATE, "2018-05", "3 may 2019", False),
        (QuasiIdentifierKind.DATE, "4 may 2019", "3 may 2019", False),
        (QuasiIdentifierKind.PLACE, "021xx", "02139", True),
        (QuasiIdentifierKind.PLACE, "021", "02139-4307", True),
        (QuasiIdentifierKind.PLACE, "022xx", "02139", False),
        (QuasiIdentifierKind.PLACE, "036xx", "03601", False),
        (QuasiIdentifierKind.PLACE, "02138", "02139", False),
    ],
)
def test_a_coarser_text_holds_what_it_was_made_of_and_nothing_else(kind, written, value, held):
    record = records_of_text(kind, written)
    assert covers(kind, written, value) is held
    assert record.holds(kind, value) is held


@pytest.mark.parametrize(
    ("policy", "label", "lang", "value"),
    [
        ("gdpr_strict", Phi.DATE, "en", "3/5/19"),
        ("gdpr_strict", Phi.DATE, "en", "the 4th of June 2019"),
        ("gdpr_strict", Phi.DATE, "de", "4. Juni 19"),
        ("safe_harbor", Phi.DATE, "es", "3 de mayo de 2019"),
        ("gdpr_strict", Phi.AGE, "en", "forty-five"),
        ("gdpr_strict", Phi.AGE, "en", "early forties"),
        ("gdpr_strict", Phi.AGE, "en", "18 months"),
        ("gdpr_strict", Phi.AGE, "en", "ninety-two"),
        ("gdpr_strict", Phi.AGE, "en", "101 yo"),
        ("gdpr_strict", Phi.AGE, "de", "fünfundvierzig"),
        ("gdpr_strict", Phi.CITY, "en", "Boston, MA"),
        ("gdpr_strict", Phi.CITY, "en", "Salem, Massachusetts"),
        ("gdpr_strict", Phi.ZIP, "en", "02138-1234"),
    ],
)
def test_what_a_shipped_policy_leaves_of_a_value_is_known_as_that_value(policy, label, lang, value):
    """A year of two digits, an age in words and a state were taken for nothing that is left."""
    text = f"Seen {value} today."
    note = Note("n", text, "p", lang)
    spans = DisjointSpans.of(note, [Span(5, 5 + len(value), label)])
    cases = [Case(note, spans, spans)]
    (person,) = people_of(cases).values()
    (record,) = records_of(cases, load_policy(policy), key=KEY).values()
    (written,) = record.written[KINDS[label]]
    assert not written.startswith("[")
    assert find_left(person, record)[KINDS[label]] == [written]
    assert record.holds(KINDS[label], value.casefold())


def records_of_text(kind, written):
    """Return the record of a release that shows a value so."""
    label = {QuasiIdentifierKind.DATE: Phi.DATE, QuasiIdentifierKind.PLACE: Phi.ZIP}[kind]
    shown = Policy("shown", GONE.default, {label: lambda *_: written})
    (record,) = records_of([dated(1, "of 1 value", label)], shown, key=KEY).values()
    return record


def test_a_coarser_value_of_one_patient_alone_is_unique():
    policy, cases = COARSER["year"]
    own, _ = split(cases, key=Key(KEY.derive("found", "1")), least=20)
    alone = cases.index(own[0])
    changed = [dated(n, "3 May 1987") if n == alone else one for n, one in enumerate(cases)]
    unique, few = sharing_of(changed, policy)
    assert unique == few == pytest.approx(1 / len(own))
