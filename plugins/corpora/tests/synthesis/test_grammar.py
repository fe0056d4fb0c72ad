from pathlib import Path

import pytest

from deid_assets.core.errors import ConfigError
from deid_synthesis import KINDS, languages
from deid_synthesis.grammar import _rules, load_grammar
from deid_synthesis.hard_cases import HARD_CASES
from deid_synthesis.nodes import Capital, Choice, Maybe, Reference, Repeat, Sequence, parse
from deid_synthesis.patients import PROBLEM, World
from deid_synthesis.people import inflect_surname, inflect_words

TOPIC_RULES = (
    "service",
    "clinic",
    "symptom",
    "negative",
    "pmh",
    "med",
    "exam",
    "lab",
    "course",
    "plan",
    "ages",
)


def _references(node):
    match node:
        case Reference():
            yield node
        case Sequence(parts=parts) | Choice(options=parts):
            for part in parts:
                yield from _references(part)
        case Capital(part=part) | Maybe(part=part) | Repeat(part=part):
            yield from _references(part)


def test_every_grammar_has_a_table_of_what_its_notes_hold():
    tables = Path(__file__).parent.glob("expected/*.toml")
    assert languages() == tuple(sorted(table.stem for table in tables))


def test_every_reference_leads_to_a_rule_or_a_variable(lang):
    grammar = load_grammar(lang)
    names = {rule.name for rule in grammar.rules.values()}
    patient, rng = World(grammar, 1).patient(0)
    encounter = next(World(grammar, 1).encounters(patient, rng, KINDS))
    variables = set(encounter.variables) | {
        name for scope in encounter.subjects.values() for name in scope
    }
    for key, rule in grammar.rules.items():
        for node in rule.alternatives:
            for reference in _references(node):
                assert reference.name in names | variables, f"{key}: {reference.name}"
                assert reference.subject in {"", *encounter.subjects}, f"{key}: {reference.subject}"


def test_every_topic_has_every_topic_rule_for_each_of_its_problems(lang):
    grammar = load_grammar(lang)
    assert len(grammar.topics) >= 8
    for topic in grammar.topics:
        for line in grammar.lines("problems", topic):
            fields = line.split(" / ")
            assert len(fields) == len(PROBLEM), line
            for name in TOPIC_RULES:
                assert grammar.find(name, (topic,)).fitting((fields[0], topic))


def test_every_kind_has_a_note_with_and_one_without_phi(lang):
    grammar = load_grammar(lang)
    for kind in KINDS:
        assert grammar.find(f"note.{kind}", ())
        assert grammar.find(f"free.{kind}", ())


def test_every_hard_case_sentence_is_written(lang):
    grammar = load_grammar(lang)
    for case in HARD_CASES:
        if case.distort is None:
            assert len(grammar.lines(f"case.{case.name}")) >= 2


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("[name\nx", "line 1: not a rule header"),
        ("[a : NOPE]\nx", "not a PHI category"),
        ("[a]\n\n", "has no alternatives"),
        ("[a]\nopen {brace", "never closed"),
        ("[a]\n{what is this}", "not known"),
        ("[a]\n{valid nothing}", "not known"),
    ],
)
def test_a_fault_in_a_grammar_names_its_place(source, message):
    with pytest.raises(ConfigError, match=message) as caught:
        list(_rules(source, "here.txt", ""))
    assert "here.txt" in str(caught.value)


def test_weights_tags_and_conditions_are_read():
    rules = dict(
        _rules("[a @gb : NAME !]\n3* x\n<f> y\n[[b]]\none\ntwo\n---\nthree", "t.txt", "topic")
    )
    rule = rules["a@gb"]
    assert (rule.lines, rule.once, rule.label) == (("x", "x", "x", "y"), True, "NAME")
    assert len(rule.fitting(["m"])) == 3
    assert len(rule.fitting(["f"])) == 4
    assert rules["b@topic"].lines == ("one\ntwo", "three")


def test_a_rule_without_a_fitting_alternative_is_refused():
    rules = dict(_rules("[a]\n<f> y", "t.txt", ""))
    with pytest.raises(ConfigError, match="add one"):
        rules["a"].fitting(["m"])


def test_nested_braces_are_parsed():
    assert isinstance(parse("{a {b|c}|d}"), Choice)
    assert isinstance(parse("{^exam*2-3;, }"), Repeat)


@pytest.mark.parametrize(
    ("word", "sex", "genitive", "instrumental"),
    [
        ("Kowalski", "m", "Kowalskiego", "Kowalskim"),
        ("Kowalska", "f", "Kowalskiej", "Kowalską"),
        ("Nowak", "m", "Nowaka", "Nowakiem"),
        ("Nowak", "f", "Nowak", "Nowak"),
        ("Marek", "m", "Marka", "Markiem"),
        ("Paweł", "m", "Pawła", "Pawłem"),
        ("Zofia", "f", "Zofii", "Zofią"),
        ("Anna", "f", "Anny", "Anną"),
        ("Duda-Wilk", "m", "Dudy-Wilka", "Dudą-Wilkiem"),
        ("Alicja", "f", "Alicji", "Alicją"),
        ("Maja", "f", "Mai", "Mają"),
        ("Kacper", "m", "Kacpra", "Kacprem"),
        ("al-Masri", "m", "al-Masriego", "al-Masrim"),
        ("mąż", "m", "męża", "mężem"),
    ],
)
def test_polish_names_and_relations_are_inflected(word, sex, genitive, instrumental):
    found = inflect_words(load_grammar("pl"), {"word": word}, sex)
    assert found == {"word_gen": genitive, "word_ins": instrumental}


def test_surnames_agree_with_the_sex_where_the_grammar_says_how():
    polish, swedish = load_grammar("pl"), load_grammar("sv")
    assert [inflect_surname(polish, "Kowalski", sex) for sex in "fm"] == ["Kowalska", "Kowalski"]
    assert inflect_surname(polish, "Rakowski-Ostrowski", "f") == "Rakowska-Ostrowska"
    assert inflect_surname(polish, "Nowak", "f") == "Nowak"
    assert inflect_surname(swedish, "Sobieski", "f") == "Sobieski"
