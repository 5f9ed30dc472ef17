"""Screens: pages, components, forms, fields and links of HTML, templates and JSX."""

import time

from jobs.parsing.code2des.markup import blank, read_tags
from tests.jobs.parsing.code_samples import archive, design, markdown

FLASK = """
from flask import Flask, render_template
app = Flask(__name__)
@app.get("/orders")
def order_list():
    return render_template("orders/list.html", rows=[])
@app.route("/orders/new", methods=["GET", "POST"])
def order_new():
    return render_template("orders/form.html")
@app.get("/orders/<int:id>")
def order_show(id):
    return render_template("orders/show.html")
"""
LIST = """{% extends "base.html" %}
<h1>注文一覧</h1>
<!-- <a href="/hidden">x</a> --><script>let no = "<input name='no'>";</script>
<form action="{{ url_for('order_list') }}" {% if x > 1 %}class="a>b"{% endif %}>
  <label for="q">検索語</label> <input id="q" name="q" required>
  <label>状態 <select name="state"><option>未出荷</option></select></label>
  <button>検索</button>
</form>
<a href="/orders/new">新規登録</a> <a href="{{ url_for('order_show', id=row.id) }}">{{ x }} 詳細</a>
<a href="/orders/12">12番</a> <a href="?page=2">次へ</a>
<a href="https://example.com/">外部</a> <a href="#top">上へ</a>
"""
TEMPLATES = {
    "app.py": FLASK,
    "templates/base.html": "<html><title>受注</title><body>{% block b %}{% endblock %}</html>",
    "templates/orders/list.html": LIST,
    "templates/orders/form.html": "<form method=post>{{ form.customer() }}"
    "<input type=submit value='登録'></form>",
    "templates/orders/show.html": '{% include "orders/_part.html" %}<h1>注文詳細</h1>',
    "templates/orders/_part.html": "<p></p>",
}


def screens(lines):
    return {screen["name"]: screen for screen in design(lines)["screens"]}


def described_fields(form):
    return [(f["name"], f["type"], f["label"], f["required"]) for f in form["fields"]]


def test_templates_of_flask_are_screens_with_their_routes(described):
    found = screens(described(archive(TEMPLATES), "shop.zip"))
    assert {name: screen["kind"] for name, screen in found.items()} == {
        "templates/base.html": "layout",
        "templates/orders/list.html": "page",
        "templates/orders/form.html": "page",
        "templates/orders/show.html": "page",
        "templates/orders/_part.html": "fragment",
    }
    assert found["templates/orders/form.html"]["routes"] == ["GET /orders/new", "POST /orders/new"]
    assert found["templates/orders/list.html"]["title"] == "注文一覧"


def test_fields_have_the_words_of_their_labels(described):
    found = screens(described(archive(TEMPLATES), "shop.zip"))
    (form,) = found["templates/orders/list.html"]["forms"]
    assert described_fields(form) == [
        ("q", "text", "検索語", True),
        ("state", "select", "状態", False),
        (None, "submit", "検索", False),
    ]
    (form,) = found["templates/orders/form.html"]["forms"]
    assert described_fields(form) == [
        ("customer", "field", None, False),
        (None, "submit", "登録", False),
    ]


def test_links_lead_to_the_screens_of_their_routes(described):
    found = screens(described(archive(TEMPLATES), "shop.zip"))
    assert [(k["text"], k["screen"]) for k in found["templates/orders/list.html"]["links"]] == [
        ("新規登録", "screen:templates/orders/form.html"),
        ("詳細", "screen:templates/orders/show.html"),
        ("12番", "screen:templates/orders/show.html"),
        ("次へ", None),
    ]


def test_templates_include_each_other(described):
    model = design(described(archive(TEMPLATES), "shop.zip"))
    assert {
        (r["from"].split("/")[-1], r["to"].split("/")[-1])
        for r in model["relations"]
        if r["kind"] == "includes"
    } == {("list.html", "base.html"), ("show.html", "_part.html")}


def test_components_of_react_are_screens_with_client_routes(described):
    app = """import { Link, Route, Routes } from "react-router-dom";
import { OrderForm } from "./OrderForm";
export function App() {
  return <Routes><Route path="/form/:id" element={<OrderForm mode="x" />} /></Routes>;
}
export const Home = () => <main><h1>ホーム</h1><Link to="/form/1">入力へ</Link></main>;
"""
    form = """export function OrderForm({ mode }: { mode: string }) {
  const rows = [1].map((r) => <Field key={r} name={`row${r}`} />);
  return <form onSubmit={send}>
    <label>氏名 <input type="text" name="name" required /></label>
    <TextField id="mail" label="メール" type="email" />
    <Button type="submit">送信</Button>
  </form>;
}
"""
    found = screens(described(archive({"src/App.tsx": app, "src/OrderForm.tsx": form}), "shop.zip"))
    assert found["OrderForm"]["routes"] == ["GET /form/:id"]
    assert described_fields(found["OrderForm"]["forms"][0]) == [
        ("name", "text", "氏名", True),
        ("mail", "email", "メール", False),
        (None, "submit", "送信", False),
    ]
    assert found["Home"]["links"][0]["screen"] == "screen:src/OrderForm.tsx#OrderForm"
    assert found["App"]["uses"] == ["screen:src/OrderForm.tsx#OrderForm"]
    assert (found["App"]["kind"], found["OrderForm"]["kind"]) == ("component", "page")


def test_views_of_spring_laravel_rails_and_express_are_found(described):
    tree = {
        "a/ItemController.java": '@Controller class ItemController { @GetMapping("/items")'
        ' String list() { return "items/list"; } }',
        "templates/items/list.html": '<a th:href="@{/items(page=1)}">商品</a>'
        '<form th:action="@{/items}" method="post"><input th:field="*{name}"></form>',
        "routes/web.php": "<?php Route::get('/users', [UserController::class, 'index']);",
        "app/UserController.php": "<?php class UserController { function index() {"
        " return view('users.index'); } }",
        "resources/views/users/index.blade.php": "@extends('layouts.app')<h1>利用者</h1>",
        "resources/views/layouts/app.blade.php": "<html><title>枠</title></html>",
        "config/routes.rb": "Rails.application.routes.draw do\n  get '/posts', to: 'posts#index'\n"
        "end\n",
        "app/controllers/posts_controller.rb": "class PostsController\n  def index\n  end\nend\n",
        "app/views/posts/index.html.erb": '<%= link_to "新規", "/posts" %>'
        "<%= form_with(url: x) do |f| %><%= f.text_field :name %><% end %>",
        "server.js": "const express = require('express');\nconst app = express();\n"
        "function home(req, res) { res.render('home') }\napp.get('/', home);\n",
        "views/home.ejs": "<title>入口</title>",
    }
    found = screens(described(archive(tree), "mixed.zip"))
    assert found["templates/items/list.html"]["routes"] == ["GET /items"]
    assert found["templates/items/list.html"]["forms"][0]["fields"][0]["name"] == "name"
    assert found["templates/items/list.html"]["links"][0]["screen"] == (
        "screen:templates/items/list.html"
    )
    assert found["resources/views/users/index.blade.php"]["routes"] == ["GET /users"]
    assert found["app/views/posts/index.html.erb"]["routes"] == ["GET /posts"]
    assert found["app/views/posts/index.html.erb"]["forms"][0]["fields"][0]["name"] == "name"
    assert found["views/home.ejs"]["routes"] == ["GET /"]


def test_the_document_lists_screens_fields_and_navigation(described):
    documents = markdown(described(archive(TEMPLATES), "shop.zip"))
    japanese = documents["ja"]
    assert all(f"### {words}\n" in japanese for words in ("画面一覧", "画面項目", "画面遷移"))
    assert "| 検索語 | `q` | text | ○ |" in japanese
    assert "画面一覧・画面項目・画面遷移は5章に記載" in japanese
    assert "### Screens\n" in documents["en"]


def test_source_without_screens_says_that_it_cannot_tell(described):
    japanese = markdown(described(b"def f(): ...\n", "a.py"))["ja"]
    assert "画面一覧" not in japanese
    assert "| 画面設計・画面遷移 | ソースからは判断できません" in japanese


def test_words_in_a_call_that_translates_them_count(described):
    page = """<h1>{{ _("Orders") }}</h1><form><input name="q" placeholder="{{ _('Search') }}">
    <button>{% trans "Go" %}</button></form><a href="/x"><%= t('Back') %> {{ number }}</a>"""
    (screen,) = screens(described(page.encode(), "orders.html")).values()
    assert screen["title"] == "Orders"
    assert [field["label"] for field in screen["forms"][0]["fields"]] == ["Search", "Go"]
    assert screen["links"][0]["text"] == "Back"


def test_hostile_markup_is_read_in_time_that_grows_with_it():
    started = time.process_time()
    for part in ('<a "', "<a href='{{", "<!--", "<script>", "<label>", "<form {%", '<input a="<'):
        text = blank(part * (100_000 // len(part)))
        for _place, _element in read_tags(text, frozenset({"a", "label", "form", "input"})):
            pass
    assert time.process_time() - started < 60
