"""What the examples of each guide take for granted, in each language."""

from __future__ import annotations

import re
from pathlib import Path

from needs import ROOT

CLIENT = {
    "python": "import quotalock\nclient = quotalock.Client()\n",
    "php": "<?php\n$client = new Quotalock\\Client();\n",
    "js": "import { Client } from 'quotalock'\nconst client = new Client()\n",
}
LIMITERS = {
    "python": """
import types
def call_model(max_tokens):
    return types.SimpleNamespace(total_tokens=max_tokens - 1)
""",
    "php": """
function callModel(int $maxTokens): object
{
    return (object) ['totalTokens' => $maxTokens - 1];
}
""",
    "js": """
const callModel = async ({ maxTokens }) => ({ totalTokens: maxTokens - 1 })
""",
}
LOCKS = {
    "python": """
clients = [quotalock.Client(f"memory://node{number}") for number in range(3)]
def pages():
    return [1, 2]
def work(*of):
    pass
ship = write = export = read = rebuild = transfer = work
""",
    "php": """
$clients = array_map(fn (int $n) => new Quotalock\\Client("memory://node$n"), [1, 2, 3]);
function pages(): array
{
    return [1, 2];
}
function ship(int $token): void
{
}
function write(int $page, int $token): void
{
}
function export(): void
{
}
function read(): void
{
}
function rebuild(): void
{
}
function transfer(): void
{
}
""",
    "js": """
import { quorumLock } from 'quotalock'
const clients = [1, 2, 3].map((number) => new Client(`memory://node${number}`))
const pages = () => [1, 2]
const work = async () => {}
const [ship, write, doExport, read, rebuild, transfer] = [work, work, work, work, work, work]
""",
}
# An order whose hold is over, and a ledger with one order.
STOCK = {
    "python": """
import time
import types
sale = client.stock("sale:42")
sale.open(500, per_buyer=2)
sale.confirm(sale.take("user:7").reservation.id)
order = types.SimpleNamespace(id=981, buyer="user:42", reservation=sale.take("user:42", hold=0.001).reservation.id)
time.sleep(0.002)
def pay(order):
    return True
def replay(sale):
    pass
def is_done(order):
    return False
def keep(order, reservation):
    order.reservation = reservation
def mark_sold(reservation):
    print("sold")
def refund(order):
    print("refunded")
def place_of(sale):
    return None, 0
def commit(sale, entry, number):
    print("up to", number)
""",
    "php": """
$sale = $client->stock('sale:42');
$sale->open(500, perBuyer: 2);
$sale->confirm($sale->take('user:7')->reservation->id);
$over = $sale->take('user:42', holdMs: 1)->reservation->id;
$order = (object) ['id' => 981, 'buyer' => 'user:42', 'reservation' => $over];
usleep(2_000);
function pay(string $order): bool
{
    return true;
}
function replay(Quotalock\\Stock $sale): void
{
}
function is_done(object $order): bool
{
    return false;
}
function keep(object $order, string $reservation): void
{
    $order->reservation = $reservation;
}
function mark_sold(string $reservation): void
{
    echo "sold\\n";
}
function refund(object $order): void
{
    echo "refunded\\n";
}
function place_of(Quotalock\\Stock $sale): array
{
    return [null, 0];
}
function commit(Quotalock\\Stock $sale, string $entry, int $number): void
{
    echo "up to $number\\n";
}
""",
    "js": """
const sale = client.stock('sale:42')
await sale.open(500, { perBuyer: 2 })
await sale.confirm((await sale.take('user:7')).reservation.id)
const over = (await sale.take('user:42', { holdMs: 1 })).reservation.id
const order = { id: 981, buyer: 'user:42', reservation: over }
await new Promise((resolve) => setTimeout(resolve, 2))
const pay = async () => true
const replay = async () => {}
const isDone = async () => false
const keep = async (order, reservation) => Object.assign(order, { reservation })
const markSold = async () => console.log('sold')
const refund = async () => console.log('refunded')
const placeOf = async () => [null, 0]
const commit = async (sale, entry, number) => console.log('up to', number)
""",
}
CACHE = {
    "python": """
import zlib
def render(page):
    return f"<h1>{page}</h1>"
def find_price(sku):
    return "9.90"
def update_user(user, name):
    pass
""",
    "php": """
function render(string $page): string
{
    return "<h1>$page</h1>";
}
function find_price(string $sku): string
{
    return '9.90';
}
function update_user(string $user, string $name): void
{
}
""",
    "js": """
import { deflateSync, inflateSync } from 'node:zlib'
const render = (page) => `<h1>${page}</h1>`
const findPrice = async () => '9.90'
const updateUser = async () => {}
""",
}
ONCE = {
    "python": """
import json
def charge(order):
    return "receipt 7"
def place(user, basket):
    return {"order": 981}
def send_gift(user):
    print("a gift for", user)
def nightly():
    print("a night's work")
""",
    "php": """
function nightly(): void
{
    echo "a night's work\\n";
}
function charge(string $order): string
{
    return 'receipt 7';
}
function place(string $user, array $basket): array
{
    return ['order' => 981];
}
function send_gift(string $user): void
{
    echo "a gift for $user\\n";
}
""",
    "js": """
const nightly = async () => console.log("a night's work")
const charge = async () => 'receipt 7'
const place = async () => ({ order: 981 })
const sendGift = async (user) => console.log('a gift for', user)
""",
}
METRICS = {
    "python": """
from flask import Flask
app = Flask("shop")
""",
    "php": """
class Route
{
    public static function get(string $path, callable $handler): void
    {
        $handler() > '# HELP' || exit('nothing was told');
    }
}
function response(string $body, int $status, array $headers): string
{
    return $body;
}
""",
    "js": """
const response = { type: () => response, send: (body) => body.startsWith('# HELP') || console.log('nothing was told') }
const app = { get: (path, handler) => handler({}, response) }
""",
}
HOOKS = {
    "python": """
class Statsd:
    def increment(self, name):
        print(name)
class Log:
    def warning(self, text, *of):
        print(text % of)
statsd, log = Statsd(), Log()
""",
    "php": """
class Statsd
{
    public function increment(string $name): void
    {
        echo "$name\\n";
    }
}
class Log
{
    public function warning(string $text): void
    {
        echo "$text\\n";
    }
}
class Current
{
    public static function getCurrent(): self
    {
        return new self();
    }
    public function setAttributes(array $of): void
    {
    }
}
class_alias(Current::class, 'OpenTelemetry\\API\\Trace\\Span');
[$statsd, $log] = [new Statsd(), new Log()];
""",
    "js": """
const statsd = { increment: (name) => console.log(name) }
const log = { warn: (text) => console.log(text) }
""",
}
PRELUDES = {
    "limiters": LIMITERS,
    "locks": LOCKS,
    "semaphores": LOCKS,
    "stock": STOCK,
    "stock-baskets": STOCK,
    "stock-ledger": STOCK,
    "cache": CACHE,
    "once": ONCE,
    "metrics": METRICS,
    "hooks": HOOKS,
}
# How many examples each guide has in each language.
COUNTS = {
    "alerts": 0,
    "algorithms": 0,
    "limiters": 8,
    "changing-policies": 0,
    "limiter-internals": 0,
    "fencing-tokens": 0,
    "lock-failures": 0,
    "cli": 0,
    "cluster": 0,
    "denials": 0,
    "doctor": 0,
    "simulate": 0,
    "locks": 4,
    "semaphores": 2,
    "lock-costs": 0,
    "stock": 4,
    "stock-baskets": 2,
    "stock-ledger": 1,
    "stock-failures": 0,
    "cache": 6,
    "once": 4,
    "metrics": 2,
    "serve": 0,
    "hooks": 3,
}
# What an example prints in every language: by guide and place in it; nothing if it is not listed.
_PRINTED = {
    ("limiters", 1): "9 of 10 left\n99 of 100 left\n",
    ("stock", 1): "sold\n",
    ("stock", 2): "600\nopen 599 0 1 1\n",
    ("stock", 3): "ended 0\n",
    ("stock-baskets", 0): "AAA\n",
    ("stock-baskets", 1): "sold\n",
    ("stock-ledger", 0): "sold\nup to 4\n",
    ("cache", 3): "Ada Bob\n",
    ("cache", 4): "Ada\n",
    ("once", 1): '{"order":981}\n',
    ("once", 2): "a gift for user:42\n",
    ("once", 3): "a night's work\n",
    ("metrics", 1): "checkout 1\n",
    ("hooks", 0): "limits.checkout.allowed\nlimits.checkout.denied\ncheckout denied user:42\n",
}
# Where one language prints something else.
_OTHERWISE = {
    ("limiters", 0, "python"): "19 99999\n",
    ("limiters", 3, "python"): "7\n",
    ("once", 1, "python"): "{'order': 981}\n",
}


def printed(guide: str, number: int, language: str) -> str:
    """What this example prints."""
    return _OTHERWISE.get((guide, number, language), _PRINTED.get((guide, number), ""))


def patient_example(example: str) -> Path:
    """A copy of an example whose clients have a longer timeout; it finds what is installed next to the repository."""
    language, copy = example.split("/")[0], ROOT / "target/examples" / example
    copy.parent.mkdir(parents=True, exist_ok=True)
    text = (ROOT / "examples" / example).read_text()
    copy.write_text(patient({"node": "js"}.get(language, language), text))
    return copy


def patient(language: str, code: str) -> str:
    """The same with a longer timeout for each client: the default is short for a machine that runs tests."""
    timeout = {"python": "timeout=10.0", "php": "timeoutMs: 10_000", "js": "{ timeoutMs: 10_000 }"}[language]

    def made(call: re.Match[str]) -> str:
        begin, between, rest = call.groups()
        if "timeout" in rest or rest.startswith("{"):
            return call[0]
        if rest.startswith(", {"):
            return f"{begin}, {{ timeoutMs: 10_000,{rest[3:]}"
        no_url = "undefined, " if language == "js" else ""
        return f"{begin}{', ' if between else no_url}{timeout}{rest}"

    return re.sub(r"""(\bClient\(((?:"[^"\n]*"|'[^'\n]*')?))((?:, \{)?[^()\n]*\))""", made, code)
