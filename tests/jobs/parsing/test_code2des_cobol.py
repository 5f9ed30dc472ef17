"""COBOL: the sample in CP932 meets what a person found in it; columns, dialect traps."""

import pytest

from jobs.parsing import PARSER_VERSION
from tests.jobs.parsing.code_samples import archive, design, expected, markdown, tail


@pytest.fixture
def sales(described, corpus):
    """The model of the sample."""
    return design(described(corpus("code/cobol-uriage-sjis.zip")))


FACTS = expected("cobol-uriage-sjis")


def functions(model, kind):
    return [f for f in model["functions"] if f["kind"] == kind]


def section(name):
    """Return program and section of a paragraph's name."""
    return name.replace("()", "").split("(")[0].split(".")[1]


def test_a_document_without_grammars_has_no_empty_brackets(described, corpus):
    said = markdown(described(corpus("code/cobol-uriage-sjis.zip")))["ja"]
    assert f"torikomi parser {PARSER_VERSION} |" in said


def test_programs_copybooks_sections_and_paragraphs_are_found(sales):
    assert [f["name"] for f in functions(sales, "program")] == FACTS["programs"]
    assert [t["name"] for t in sales["types"] if t["kind"] == "copybook"] == FACTS["copybooks"]
    for program in FACTS["programs"]:
        own = [f for f in sales["functions"] if f["qualified"].startswith(f"{program}.")]
        sections = [f["name"] for f in own if f["kind"] == "section"]
        paragraphs = [f["name"] for f in own if f["kind"] == "paragraph"]
        assert sections == FACTS["sections_procedure"][program]
        assert paragraphs == FACTS["paragraphs"][program]


def test_performs_gotos_and_calls_are_edges(sales):
    links = [r for r in sales["relations"] if r["kind"] in ("calls", "jumps")]
    performs = {
        (section(tail(r["from"])), tail(r["to"]).split(".")[-1].removesuffix("()"))
        for r in links
        if r["kind"] == "calls" and "URI001." in tail(r["to"])
    }
    assert performs == {tuple(pair) for pair in FACTS["performs"]}
    jumps = [(section(tail(r["from"])), tail(r["to"])) for r in links if r["kind"] == "jumps"]
    assert jumps == [("SUM-RTN", "URI001.SUM-RTN.SUM-EXIT()")]
    calls = [r["confidence"] for r in links if tail(r["to"]).startswith("URI002(")]
    assert calls == ["exact", "likely"]
    assert "URI999" not in str(sales)


def test_copies_includes_files_and_tables_are_found(sales):
    copies = [(r["from"], r["to"]) for r in sales["relations"] if r["kind"] == "copies"]
    assert copies == [("module:URI001.CBL", "module:COPY/URIREC.CPY")]
    assert [p["name"] for p in sales["external"]] == FACTS["includes"]
    files = [t["name"] for t in sales["types"] if t["kind"] == "file"]
    assert files == FACTS["files"]["URI001"]
    crud = [[r["table"], r["ops"]] for r in sales["crud"]]
    assert crud == [*FACTS["sql_tables"]["URI002"], *FACTS["sql_tables"]["URI001"]]
    assert {t["source"] for t in sales["tables"]} == {"exec_sql"}


def test_data_items_of_level_01_carry_their_fields_and_comments(sales):
    records = [t for t in sales["types"] if t["kind"] == "record"]
    for program in FACTS["programs"]:
        own = [t["name"] for t in records if t["qualified"].startswith(f"{program}.")]
        assert own == FACTS["data_items_level01"][program]
    record = next(t for t in records if t["name"] == "URI-REC")
    fields = {f["name"]: (f["type"], f["doc"]) for f in record["fields"]}
    assert fields["URI-KINGAKU"] == ("S9(7)", "金額（円）表")
    assert fields["URI-MEI"] == ("OCCURS 3 TIMES", None)


def test_the_first_comment_is_the_logical_name_of_a_program(sales):
    summaries = {f["name"]: f["summary"] for f in functions(sales, "program")}
    assert summaries == {
        "URI001": "売上集計プログラム（表示能力の確認）",
        "URI002": "副プログラム：得意先マスタ検索",
    }
    assert [e["kind"] for e in sales["entry_points"]] == ["program"]


def fixed(*lines):
    return "\r\n".join(f"{n * 100:06}{line}" for n, line in enumerate(lines, 1)).encode("cp932")


def test_columns_count_bytes_so_that_the_identification_is_not_read(described):
    text = " 01  WK-名称" + " " * 10 + 'PIC X(4) VALUE "能".'
    width = len(text.encode("cp932")) - 1
    line = text + " " * (65 - width) + "CALL 'X'"
    model = design(
        described(
            fixed(
                " IDENTIFICATION DIVISION.",
                " PROGRAM-ID. A.",
                " DATA DIVISION.",
                " WORKING-STORAGE SECTION.",
                line,
                " PROCEDURE DIVISION.",
                " MAIN-P.",
                "     STOP RUN.",
            ),
            "A.CBL",
        )
    )
    assert [t["name"] for t in model["types"]] == ["WK-名称"]
    assert model["external"] == []


def test_words_that_end_sentences_are_no_paragraphs(described):
    source = fixed(
        " ID DIVISION.",
        " PROGRAM-ID. B.",
        " PROCEDURE DIVISION.",
        " P1.",
        " END-IF.",
        " GOBACK.",
        " EXIT.",
        " CONTINUE.",
        "     MOVE 'SUB1' TO W.",
        "     CALL W.",
        "     EXEC SQL DECLARE C1 CURSOR FOR SELECT A FROM T_A",
        "     END-EXEC.",
        "     PERFORM 3 TIMES",
        "     END-PERFORM.",
        " P2.",
        "     PERFORM P1 THRU P2.",
    )
    model = design(described(source, "B.cob"))
    assert [f["name"] for f in functions(model, "paragraph")] == ["P1", "P2"]
    assert [(r["table"], r["ops"]) for r in model["crud"]] == [("T_A", "R")]
    assert [p["name"] for p in model["external"]] == ["SUB1"]


def test_free_format_and_several_programs_in_a_file_are_read(described):
    source = (
        "       >>SOURCE FORMAT IS FREE\nidentification division.\nprogram-id. one.\n"
        "procedure division.\n  call 'two'. *> 呼び出し\nend program one.\n"
        "identification division.\nprogram-id. two.\nprocedure division using x.\n  goback.\n"
    )
    model = design(described(archive({"a.cbl": source}), "a.zip"))
    assert [f["name"] for f in functions(model, "program")] == ["one", "two"]
    calls = [(tail(r["from"]), tail(r["to"])) for r in model["relations"] if r["kind"] == "calls"]
    assert calls == [("one()", "two(x)")]
