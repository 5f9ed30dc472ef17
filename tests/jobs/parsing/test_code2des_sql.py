"""SQL: the schema in EUC-JP meets EXPECTED; dialects; statements that nothing understands."""

from tests.jobs.parsing.code_samples import archive, design, expected


def test_the_sample_has_its_tables_columns_keys_views_and_indexes(described, corpus):
    model = design(described(corpus("code/java-order-sjis.zip")))
    facts = expected("java-order-sjis")
    tables = {t["name"]: t for t in model["tables"] if t["kind"] == "table"}
    found = {name: [c["name"] for c in table["columns"]] for name, table in tables.items()}
    assert found == facts["tables_sql"]
    assert [t["name"] for t in model["tables"] if t["kind"] == "view"] == facts["views"]
    assert [i for t in model["tables"] for i in t["indexes"]] == facts["indexes"]
    keys = [
        [name, key["column"], *key["references"].split(".")]
        for name, table in tables.items()
        for key in table["foreign_keys"]
    ]
    assert keys == facts["foreign_keys"]
    assert [c["comment"] for c in tables["T_ORDER"]["columns"]] == ["注文番号", "名称", None]
    assert tables["T_ORDER"]["comment"] == "注文表（EUC-JP）"
    file = next(f for f in model["files"] if f["language"] == "sql")
    assert file["encoding"] == "euc_jp"


def test_dialects_are_read_statement_by_statement(described):
    files = {
        "my.sql": "CREATE TABLE `a` (`id` INT NOT NULL AUTO_INCREMENT COMMENT '番号', PRIMARY KEY"
        " (`id`)) ENGINE=InnoDB COMMENT='表';\n",
        "ms.sql": "CREATE TABLE [dbo].[b] ([id] INT IDENTITY(1,1) NOT NULL)\nGO\n"
        "CREATE TABLE [dbo].[c] ([n] NVARCHAR(MAX) NULL)\nGO\n",
        "ora.sql": "CREATE TABLE d (n NUMBER(10) NOT NULL, v VARCHAR2(20 CHAR));\n/\n"
        "COMMENT ON TABLE d IS '顧客';\nCOMMENT ON COLUMN d.v IS '名前';\n",
        "pg.sql": "CREATE TABLE public.e (id bigserial PRIMARY KEY, d_n int REFERENCES d(n));\n"
        "ALTER TABLE public.e ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES a (id);\n"
        "INSERT INTO e VALUES (1); CREATE FUNCTION g() RETURNS int AS $$ BEGIN; RETURN 1; END; $$"
        " LANGUAGE plpgsql;\n",
    }
    model = design(described(archive(files), "ddl.zip"))
    tables = {t["name"]: t for t in model["tables"]}
    assert sorted(tables) == ["a", "b", "c", "d", "e"]
    assert (tables["a"]["comment"], tables["a"]["columns"][0]["comment"]) == ("表", "番号")
    assert tables["a"]["columns"][0]["key"] == "primary"
    assert (tables["d"]["comment"], tables["d"]["columns"][1]["comment"]) == ("顧客", "名前")
    assert [k["references"] for k in tables["e"]["foreign_keys"]] == ["d.n", "a.id"]
    assert [f["name"] for f in model["functions"]] == ["g"]
    assert model["warnings"] == []


def test_a_statement_that_nothing_understands_keeps_its_name_and_is_a_warning(described):
    source = "CREATE TABLE ok (a INT);\nCREATE TABLE odd (((( WHAT ;\nCREATE TABLE too (b INT);\n"
    model = design(described(source.encode(), "x.sql"))
    assert [(t["name"], len(t["columns"])) for t in model["tables"]] == [
        ("odd", 0),
        ("ok", 1),
        ("too", 1),
    ]
    assert [(w["code"], w["line"]) for w in model["warnings"]] == [("syntax_errors", 2)]
