"""Django: urls.py, class-based views and the templates that they show."""

from tests.jobs.parsing.code_samples import archive, design, tail


def test_routes_of_django_have_the_prefixes_of_their_includes(described):
    tree = {
        "site1/urls.py": """
from django.urls import include, path, re_path
from shop import views
urlpatterns = [
    path("shop/", include(("shop.urls", "shop"), namespace="shop")),
    path("", views.home, name="home"),
    path("in/", include([path("deep/<slug:s>/", views.deep)])),
    re_path(r"^old/(?P<year>[0-9]{4})/$", views.old),
]
""",
        "shop/urls.py": """
from django.urls import path
from . import views
urlpatterns = [
    path("", views.OrderList.as_view(), name="list"),
    path("<int:pk>/", views.OrderDetail.as_view(), name="detail"),
    path("api/", views.api),
]
""",
        "shop/views.py": """
from django.views.generic import ListView, View
def home(request): ...
def deep(request, s): ...
def old(request, year): ...
@require_http_methods(["GET", "POST"])
def api(request): ...
class OrderList(ListView):
    template_name = "shop/list.html"
class OrderDetail(View):
    def get(self, request, pk): return render(request, "shop/detail.html")
    def post(self, request, pk): ...
""",
        "shop/templates/shop/list.html": "<a href=\"{% url 'shop:detail' o.pk %}\">明細</a>",
        "shop/templates/shop/detail.html": '<h1>明細</h1><a href="/shop/">一覧</a>',
    }
    model = design(described(archive(tree), "site.zip"))
    found = [(e["method"], e["path"], e["handler"]) for e in model["endpoints"]]
    assert [(method, path, tail(handler).split("(")[0]) for method, path, handler in found] == [
        ("ANY", "/", "home"),
        ("ANY", "/in/deep/<slug:s>/", "deep"),
        ("ANY", "/old/<year>/", "old"),
        ("ANY", "/shop/", "OrderList"),
        ("GET", "/shop/<int:pk>/", "OrderDetail.get"),
        ("POST", "/shop/<int:pk>/", "OrderDetail.post"),
        ("GET", "/shop/api/", "api"),
        ("POST", "/shop/api/", "api"),
    ]
    led = {s["name"]: [k["screen"] for k in s["links"]] for s in model["screens"]}
    assert led == {
        "shop/templates/shop/detail.html": ["screen:shop/templates/shop/list.html"],
        "shop/templates/shop/list.html": ["screen:shop/templates/shop/detail.html"],
    }
