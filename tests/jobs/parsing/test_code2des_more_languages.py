"""Go, C#, Kotlin, PHP, Ruby and Rust: definitions, imports, calls, routes."""

import pytest

from tests.jobs.parsing.code_samples import archive, design, edges, routes, tail


def names(model, key="functions"):
    return [(row["kind"], row["qualified"]) for row in model[key]]


def imports(model):
    found = [r for r in model["relations"] if r["kind"] == "imports"]
    return {(r["from"].removeprefix("module:"), r["to"].removeprefix("module:")) for r in found}


GO = {
    "go.mod": "module example.com/shop\n",
    "main.go": 'package main\nimport (\n\t"fmt"\n\t"github.com/gin-gonic/gin"\n'
    '\t"example.com/shop/order"\n)\nfunc main() {\n\tr := gin.Default()\n'
    '\tv1 := r.Group("/v1")\n\tv1.GET("/orders/:id", order.Get)\n'
    '\tr.POST("/orders", func(c *gin.Context) {})\n\tfmt.Println("能")\n}\n',
    "order/order.go": "package order\n\n// Store は注文を保存する。\ntype Store struct {\n"
    "\tdb *DB // 接続\n\tBase\n}\ntype Reader interface { Read(n int) error }\ntype ID = int\n"
    "// Get は一件返す。\nfunc Get(c *Context) { s := &Store{}; s.find(1, 2) }\n"
    "func (s *Store) find(a, b int, c ...string) (int, error) {\n"
    "\tif a > 0 && b > 0 {\n\t\treturn s.db.Run()\n\t}\n\treturn 0, nil\n}\n",
    "order/db.go": "package order\ntype DB struct{}\nfunc (d *DB) Run() (int, error) "
    '{ query("SELECT id FROM t_order"); return 1, nil }\n',
}


def test_go(described):
    model = design(described(archive(GO), "shop.zip"))
    assert routes(model) == [("POST", "/orders"), ("GET", "/v1/orders/:id")]
    assert tail(model["endpoints"][1]["handler"]) == "Get(*Context)"
    assert names(model, "types") == [
        ("struct", "DB"),
        ("struct", "Store"),
        ("interface", "Reader"),
        ("alias", "ID"),
    ]
    assert ("method", "Store.find") in names(model)
    assert ("method", "Reader.Read") in names(model)
    store = next(t for t in model["types"] if t["name"] == "Store")
    assert (store["bases"], store["fields"][0]["doc"]) == (["Base"], "接続")
    assert store["summary"] == "Store は注文を保存する"
    find = next(f for f in model["functions"] if f["name"] == "find")
    assert [p["name"] for p in find["params"]] == ["a", "b", "c"]
    assert find["metrics"]["cyclomatic"] == 3
    calls = {(a.split("(")[0], b.split("(")[0]) for a, b, _ in edges(model, "calls")}
    assert {("Get", "Store.find"), ("Store.find", "DB.Run")} <= calls
    assert {("main.go", "order/order.go"), ("order/order.go", "order/db.go")} <= imports(model)
    assert {p["name"] for p in model["external"]} >= {"fmt", "github.com/gin-gonic/gin"}
    assert [e["kind"] for e in model["entry_points"]] == ["main"]
    assert [(r["table"], r["ops"]) for r in model["crud"]] == [("t_order", "R")]


CSHARP = {
    "Controllers/OrdersController.cs": "using Microsoft.AspNetCore.Mvc;\nusing Shop.Services;\n"
    "namespace Shop.Controllers;\n/// <summary>注文の操作</summary>\n[ApiController]\n"
    '[Route("api/[controller]")]\npublic class OrdersController : ControllerBase\n{\n'
    "    private readonly OrderService _service;\n"
    "    public OrdersController(OrderService service) { _service = service; }\n"
    '    [HttpGet("{id}")]\n    public async Task<Order> Get(int id, string s = "能")\n'
    "    {\n        if (id < 0) throw new ArgumentException();\n"
    "        return _service.Find(id);\n    }\n    [HttpPost] public void Create() { }\n}\n",
    "Services/OrderService.cs": "namespace Shop.Services\n{\n"
    "    public record Point(int X, int Y);\n"
    "    public enum State { Open = 1, Closed }\n    public class OrderService : IService {\n"
    "        public int Count { get; set; }\n        public Order Find(int id) => null;\n"
    "        void Outer() { int Inner() => 1; Inner(); }\n    }\n    interface IService { }\n}\n",
    "Program.cs": 'var app = Build();\napp.MapGet("/health", () => "ok");\n',
}


def test_csharp(described):
    model = design(described(archive(CSHARP), "shop.zip"))
    assert routes(model) == [
        ("POST", "/api/orders"),
        ("GET", "/api/orders/{id}"),
        ("GET", "/health"),
    ]
    kinds = dict((name, kind) for kind, name in names(model, "types"))
    assert kinds == {
        "OrdersController": "class",
        "Point": "record",
        "State": "enum",
        "OrderService": "class",
        "IService": "interface",
    }
    assert ("constructor", "OrdersController.OrdersController") in names(model)
    assert ("function", "OrderService.Outer.Inner") in names(model)
    get = next(f for f in model["functions"] if f["name"] == "Get")
    assert (get["throws"], get["returns"]) == (["ArgumentException"], "Task<Order>")
    assert get["params"][1]["default"] == '"能"'
    assert model["types"][0]["summary"] == "注文の操作"
    calls = {(tail(r["from"]), tail(r["to"])) for r in model["relations"] if r["kind"] == "calls"}
    assert ("OrdersController.Get(int,string)", "OrderService.Find(int)") in calls
    pair = ("Controllers/OrdersController.cs", "Services/OrderService.cs")
    assert pair in imports(model)
    point = next(t for t in model["types"] if t["name"] == "Point")
    assert [f["name"] for f in point["fields"]] == ["X", "Y"]


KOTLIN = {
    "a/Order.kt": 'package a\nimport b.Repo\n/** 注文 */\n@RestController\n@RequestMapping("/o")\n'
    "class OrderController(private val repo: Repo) : Base(), Api {\n"
    '    @GetMapping("/{id}") fun get(id: Int): String {\n'
    '        if (id > 1 && true) { throw Bad("x") }\n        return repo.find(id)\n    }\n'
    '    companion object { fun mk(): Int = 1 }\n}\ndata class P(val x: Int, val y: String = "z")\n'
    "enum class K { A, B }\ninterface Api\nobject Single\nfun main() { println(1) }\n",
    "b/Repo.kt": 'package b\nclass Repo { fun find(id: Int): String = "能" }\n',
}


def test_kotlin(described):
    model = design(described(archive(KOTLIN), "k.zip"))
    assert routes(model) == [("GET", "/o/{id}")]
    assert names(model, "types") == [
        ("class", "OrderController"),
        ("record", "P"),
        ("enum", "K"),
        ("interface", "Api"),
        ("object", "Single"),
        ("class", "Repo"),
    ]
    assert ("method", "OrderController.get") in names(model)
    assert ("method", "OrderController.Companion.mk") in names(model)
    assert model["types"][0]["bases"] == ["Base", "Api"]
    point = next(t for t in model["types"] if t["name"] == "P")
    assert [(f["name"], f["type"], f["default"]) for f in point["fields"]] == [
        ("x", "Int", None),
        ("y", "String", '"z"'),
    ]
    get = next(f for f in model["functions"] if f["name"] == "get")
    assert (get["returns"], get["throws"]) == ("String", ["Bad"])
    assert get["metrics"]["cyclomatic"] == 3
    assert ("a/Order.kt", "b/Repo.kt") in imports(model)
    calls = {(tail(r["from"]), tail(r["to"])) for r in model["relations"] if r["kind"] == "calls"}
    assert ("OrderController.get(Int)", "Repo.find(Int)") in calls
    assert [e["kind"] for e in model["entry_points"]] == ["main"]


PHP = {
    "routes/web.php": "<?php\nuse App\\Http\\OrderController;\n"
    "use Illuminate\\Support\\Facades\\Route;\n"
    "Route::get('/orders/{id}', [OrderController::class, 'show']);\n"
    "Route::prefix('admin')->group(function () { Route::post('/x', 'OrderController@store'); });\n",
    "app/Http/OrderController.php": "<?php\nnamespace App\\Http;\nuse App\\Models\\Order as M;\n"
    "/** 注文 */\nfinal class OrderController extends Base implements I {\n"
    "  private ?M $model;\n  public function __construct(private Repo $repo) {}\n"
    "  /** 一件表示 */\n  public function show(int $id, $b = 1): ?string {\n"
    "    if ($id && $b) { throw new \\RuntimeException('能'); }\n"
    "    $this->store(); $m = new M(); $m->save(); return null; }\n"
    "  protected function store(...$all) { DB::select('select a from t_order'); }\n}\n"
    "function top() {}\n",
    "app/Models/Order.php": "<?php\nnamespace App\\Models;\nclass Order { function save() {} }\n",
}


def test_php(described):
    model = design(described(archive(PHP), "p.zip"))
    assert routes(model) == [("POST", "/admin/x"), ("GET", "/orders/{id}")]
    assert tail(model["endpoints"][1]["handler"] or "").startswith("OrderController.show(")
    assert ("constructor", "OrderController.__construct") in names(model)
    assert ("function", "top") in names(model)
    kind = next(t for t in model["types"] if t["name"] == "OrderController")
    assert (kind["bases"], kind["summary"]) == (["Base", "I"], "注文")
    assert [f["name"] for f in kind["fields"]] == ["$model", "$repo"]
    show = next(f for f in model["functions"] if f["name"] == "show")
    assert (show["returns"], show["throws"]) == ("?string", ["RuntimeException"])
    assert show["metrics"]["cyclomatic"] == 3
    calls = {(a.split("(")[0], b.split("(")[0]) for a, b, _ in edges(model, "calls")}
    assert ("OrderController.show", "OrderController.store") in calls
    assert ("OrderController.show", "Order.save") in calls
    assert ("app/Http/OrderController.php", "app/Models/Order.php") in imports(model)
    assert [(r["table"], r["ops"]) for r in model["crud"]] == [("t_order", "R")]


RUBY = {
    "config/routes.rb": "Rails.application.routes.draw do\n  root 'pages#home'\n"
    "  resources :orders, only: [:index, :show]\n  namespace :api do\n"
    "    get '/ping', to: 'status#ping'\n  end\nend\n",
    "app/controllers/orders_controller.rb": "require 'json'\nrequire_relative '../lib/tool'\n"
    "# 注文\nclass OrdersController < ApplicationController\n  include Helper\n"
    "  attr_reader :order\n  def index(a, b = 1, *c, k: 2)\n"
    "    raise ArgumentError, '能' if a && b\n    show\n    t = Tool.new\n    t.run\n  end\n"
    "  def show; end\n  def self.build; end\nend\n",
    "app/lib/tool.rb": "module M; end\nclass Tool\n  def run; end\nend\n",
    "db/schema.rb": "ActiveRecord::Schema.define do\n"
    '  create_table "orders", force: :cascade do |t|\n'
    '    t.string "name", null: false, comment: "名前"\n    t.references :user\n  end\n'
    '  add_foreign_key "orders", "users"\nend\n',
}


def test_ruby(described):
    model = design(described(archive(RUBY), "r.zip"))
    assert routes(model) == [
        ("GET", "/"),
        ("GET", "/api/ping"),
        ("GET", "/orders"),
        ("GET", "/orders/:id"),
    ]
    assert tail(model["endpoints"][2]["handler"]).startswith("OrdersController.index(")
    assert ("module", "M") in names(model, "types")
    kind = next(t for t in model["types"] if t["name"] == "OrdersController")
    assert (kind["bases"], kind["summary"]) == (["ApplicationController", "Helper"], "注文")
    assert [f["name"] for f in kind["fields"]] == ["order"]
    index = next(f for f in model["functions"] if f["name"] == "index")
    assert [p["name"] for p in index["params"]] == ["a", "b", "*c", "k:"]
    assert (index["throws"], index["metrics"]["cyclomatic"]) == (["ArgumentError"], 3)
    calls = {(a.split("(")[0], b.split("(")[0]) for a, b, _ in edges(model, "calls")}
    assert ("OrdersController.index", "Tool.run") in calls
    assert ("app/controllers/orders_controller.rb", "app/lib/tool.rb") in imports(model)
    table = next(t for t in model["tables"] if t["name"] == "orders")
    assert [c["name"] for c in table["columns"]] == ["id", "name", "user_id"]
    assert [k["references"] for k in table["foreign_keys"]] == ["users.id"]


RUST = {
    "src/main.rs": "mod store;\nuse crate::store::{Store, open as start};\nuse std::fmt;\n"
    "use serde::Serialize;\n/// 起動\nfn main() {\n    let s = Store::new(1);\n    s.get(2);\n"
    "    start();\n    if true && false {}\n}\n",
    "src/store.rs": "/// 保管\n#[derive(Debug)]\npub struct Store<T> { pub a: i32 }\n"
    "pub enum Kind { A, B(i32) }\npub trait Read: Sized { fn read(&self) -> i32; }\n"
    "impl<T> Store<T> {\n    pub fn new(a: i32) -> Self { Store { a } }\n"
    "    pub fn get(&self, n: i32) -> i32 { self.a() }\n    fn a(&self) -> i32 { 1 }\n}\n"
    "impl Read for Store<i32> { fn read(&self) -> i32 { 1 } }\n"
    "pub fn open() {}\nmod inner { pub fn deep() {} }\n",
}


def test_rust(described):
    model = design(described(archive(RUST), "r.zip"))
    assert names(model, "types") == [("struct", "Store"), ("enum", "Kind"), ("trait", "Read")]
    assert ("method", "Store.get") in names(model)
    assert ("method", "Store.read") in names(model)
    assert ("function", "inner.deep") in names(model)
    store = model["types"][0]
    assert (store["summary"], store["decorators"]) == ("保管", ["derive(Debug)"])
    assert [f["name"] for f in model["types"][1]["fields"]] == ["A", "B"]
    calls = {(a.split("(")[0], b.split("(")[0]) for a, b, _ in edges(model, "calls")}
    assert {("main", "Store.get"), ("main", "open"), ("main", "Store.new")} <= calls
    assert ("Store.get", "Store.a") in calls
    assert imports(model) == {("src/main.rs", "src/store.rs")}
    assert {(p["name"], p["ecosystem"]) for p in model["external"]} == {
        ("std", "rust-stdlib"),
        ("serde", "crates"),
    }


@pytest.mark.parametrize("files", [GO, CSHARP, KOTLIN, PHP, RUBY, RUST])
def test_the_samples_parse_without_warnings(described, files):
    assert design(described(archive(files), "x.zip"))["warnings"] == []
