# ruff: noqa: RUF001 - look-alike characters are what is tested
"""The text analyser: what a question must find, and what must not break it."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.analysis import analyse, named_senders, query_terms
from remembrancer.analysis.analyser import MAX_QUERY_WORDS, MAX_TERM, MAX_TERMS

ANY_TEXT = st.text(st.characters(codec=None), max_size=200)


def finds(question: str, text: str) -> bool:
    return bool(query_terms(question).keys() & analyse(text).keys())


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When did she run the race?", "I was running all races."),
        ("cafe", "Ein Café in Wien"),
        ("CAFÉ", "cafe"),
        ("Caroline’s dog", "the dogs of Caroline"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("ﬁnancial", "financial"),
        ("straße", "STRASSE"),
        ("¿Dónde están las canciones?", "Me gusta mucho esa canción que tú cantas"),
        ("Où est le cheval ?", "Nous avons vu des chevaux dans la forêt, et un cheval blanc"),
        ("Wo sind meine Bücher?", "Das ist mein Buch, und die Bücher sind nicht da"),
        ("Hundekuchen", "Ich habe einen Hundekuchen gebacken"),
        ("猫", "私は猫が好きです"),
        ("東京のどこに住んでいますか", "彼女は去年東京に引っ越しました"),
        ("你在哪里工作", "我在北京工作了三年"),
        ("コーヒー", "毎朝コーヒーを飲む"),
        ("กาแฟ", "ฉันดื่มกาแฟทุกเช้า"),
        ("친구가 누구야?", "민수는 서울에서 친구를 만났다"),
        ("집이 어디야", "집에 갔다"),
        ("كتاب", "قرأت الكتاب أمس"),
        ("كِتَاب", "كتاب"),
        ("книга", "Я читаю книги"),
        ("ёлка", "елка"),
        ("किताब", "मुझे किताबें पसंद हैं"),
        ("ספר", "סֵפֶר"),
        ("βιβλίο", "το ΒΙΒΛΙΟ"),
        ("🎉", "well done 🎉🎉"),
        ("👍", "ok 👍🏽"),
        ("🇩🇪", "home 🇩🇪🇫🇷"),
        ("snake_case", "a snake case"),
        ("2023", "in May 2023."),
    ],
)
def test_question_finds_text(question: str, text: str) -> None:
    """The keyword arm alone finds the row, across inflections, spellings and scripts."""
    assert finds(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [("家庭", "庭家"), ("cat", "dog"), ("🇩🇪", "🇫🇷"), ("й", "и"), ("What was it?", "It is a house")],
)
def test_question_does_not_find_text(question: str, text: str) -> None:
    """Other words, other pairs and mere grammar are no evidence."""
    terms = query_terms(question).keys() - query_terms("what was it").keys()
    assert not terms & analyse(text).keys()


@pytest.mark.parametrize(
    "word", ["encantan", "Bücher", "chevaux", "evlerimiz", "böcker", "running"]
)
def test_a_wrong_guess_of_language_hides_no_word(word: str) -> None:
    """A word finds itself in a text of any language, from a question of any other."""
    frames = [
        "{}",
        "I was there and she said that {}",
        "ich habe das nicht so mit {} und der",
        "el no es para mi porque {} de la",
        "je ne suis pas dans le {} avec vous",
        "jag har inte det som {} och du",
        "ve bu çok güzel bir {} ama ben değil",
    ]
    texts = [analyse(frame.format(word)).keys() for frame in frames]
    questions = [query_terms(frame.format(word)).keys() for frame in frames]
    frame_terms = [query_terms(frame.format("")).keys() for frame in frames]
    for question, known in zip(questions, frame_terms, strict=True):
        assert all((question - known) & text for text in texts)


def test_function_words_are_dropped_from_questions_only() -> None:
    """Question words carry no evidence, unless the question has nothing else."""
    assert set(query_terms("When did she go to the garden?").values()) == {0, 1}
    assert "the" in analyse("the garden")
    assert query_terms("Who are you?")
    assert query_terms("qui est-ce ?")


def test_word_numbers_are_contiguous() -> None:
    """Words are numbered from 0 in order, forms of one word share a number."""
    terms = query_terms("running runs house 東京都")
    assert terms["run"] == 0
    assert terms["hous"] == 1
    assert sorted(set(terms.values())) == [0, 1, 2, 3]
    assert len(set(query_terms(" ".join(map(str, range(999)))).values())) == MAX_QUERY_WORDS


def test_term_frequencies() -> None:
    """Each occurrence counts, whatever its form."""
    assert analyse("Dogs! A dog's dog 🎉🎉")["dog"] == 3
    assert analyse("Dogs! A dog's dog 🎉🎉")["🎉"] == 2


@given(ANY_TEXT)
def test_any_text(text: str) -> None:
    """Whatever the text, terms are storable, bounded and the same each time."""
    terms = analyse(text)
    assert terms == analyse(text)
    for term, count in terms.items():
        assert 0 < len(term) <= MAX_TERM
        assert count > 0
        assert "\0" not in term
        term.encode()
    for term, word in query_terms(text).items():
        assert 0 < len(term) <= MAX_TERM
        assert 0 <= word < MAX_QUERY_WORDS
        term.encode()


@given(st.text(max_size=60))
def test_a_text_finds_itself(text: str) -> None:
    """A short text asked as a question shares a term with itself, if it has any."""
    assert finds(text, text) or not analyse(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "\0", "\ud800", "\udfff\ud800", "<|endoftext|>", "\u202e\u200f", "'; DROP TABLE--"],
)
def test_hostile_text(text: str) -> None:
    """Nothing crashes, and nothing unstorable comes out."""
    for term in [*analyse(text), *query_terms(text), *named_senders(text, [text])]:
        assert term.isprintable() or term == text


@pytest.mark.parametrize("unit", ["a", "word ", "東京都", "a'", "\u0301", "\ud800"])
def test_a_megabyte(unit: str) -> None:
    """A text of 1 MB takes about a second; the bound allows a busy machine."""
    text = unit * (1_000_000 // len(unit))
    start = time.perf_counter()
    analyse(text)
    query_terms(text)
    assert time.perf_counter() - start < 15


def test_many_distinct_terms() -> None:
    """A text yields no more terms than a posting list should hold, the first ones."""
    terms = analyse(" ".join(f"w{n}" for n in range(20_000)))
    assert len(terms) == MAX_TERMS
    assert "w0" in terms


def test_long_tokens_stay_distinct() -> None:
    """Tokens that differ only after the cut are still told apart."""
    assert not analyse("x" * 200 + "a").keys() & analyse("x" * 200 + "b").keys()
    assert finds("x" * 200, "see " + "X" * 200)


def test_threads() -> None:
    """Stemming from many threads at once gives what one thread gives."""
    rng = random.Random(3)
    words = ["running", "canciones", "Bücher", "книги", "houses", "chevaux", "stories"]
    texts = [" ".join(rng.choices(words, k=40)) for _ in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyse, texts)) == [analyse(text) for text in texts]


def test_named_senders() -> None:
    """A sender is named by a word of the name, in any case and script, but not by grammar."""
    senders = ["Caroline Smith", "José", "Will", "太郎", "민수", "user 7", "X", ""]
    assert named_senders("What did caroline's friend say?", senders) == {"Caroline Smith"}
    assert named_senders("will JOSE come at 7?", senders) == {"José"}
    assert named_senders("太郎は何が好きですか", senders) == {"太郎"}
    assert named_senders("민수는 어디에 살아?", senders) == {"민수"}
    assert named_senders("", senders) == frozenset()
