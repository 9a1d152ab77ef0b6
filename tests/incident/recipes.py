"""What the recipes take for granted: functions of the reader's own application, in each language."""

from __future__ import annotations

PASSWORDS = {
    "python": """
def password_matches(user, password):
    return password == "s3cret"
""",
    "php": """
function password_matches(string $user, string $password): bool
{
    return $password === 's3cret';
}
""",
    "js": """
const passwordMatches = async (user, password) => password === 's3cret'
""",
}
MODEL = {
    "python": """
def stream_model(prompt, max_tokens):
    yield from "Very well, thank you.".split()
""",
    "php": """
function stream_model(string $prompt, int $maxTokens): array
{
    return explode(' ', 'Very well, thank you.');
}
""",
    "js": """
const streamModel = () => 'Very well, thank you.'.split(' ')
""",
}
REPORT = {
    "python": """
def send_report(server):
    print(f"{server} sends the report")
    return server
""",
    "php": """
function send_report(string $server): string
{
    echo "$server sends the report\\n";
    return $server;
}
""",
    "js": """
const sendReport = async (server) => {
  console.log(`${server} sends the report`)
  return server
}
""",
}
ORDERS = {
    "python": """
class OutOfStock(Exception):
    pass
delivered = []
def fulfil(event):
    delivered.append(event)
    if len(delivered) == 1:
        print("out of stock")
        raise OutOfStock
    print("ships order", event["order"])
""",
    "php": """
class OutOfStock extends Exception
{
    public static int $calls = 0;
}
function fulfil(array $event): ?string
{
    if (OutOfStock::$calls++ === 0) {
        echo "out of stock\\n";
        throw new OutOfStock();
    }
    echo "ships order {$event['order']}\\n";
    return null;
}
""",
    "js": """
class OutOfStock extends Error {}
let calls = 0
const fulfil = async (event) => {
  calls += 1
  if (calls === 1) {
    console.log('out of stock')
    throw new OutOfStock()
  }
  console.log('ships order', event.order)
}
""",
}
PARTNER = {
    "python": """
import types
sent = []
def send(order):
    sent.append(order)
    return types.SimpleNamespace(status=429 if len(sent) == 3 else 200, retry_after=300.0)
""",
    "php": """
function send(string $order): object
{
    static $sent = 0;
    $sent++;
    return (object) ['status' => $sent === 3 ? 429 : 200, 'retryAfter' => 300];
}
""",
    "js": """
let sent = 0
const send = async () => {
  sent += 1
  return { status: sent === 3 ? 429 : 200, retryAfter: 300 }
}
""",
}
HOME = {
    "python": """
title = "Welcome"
def render_home():
    print("rendering")
    return f"<h1>{title}</h1>"
def store(new):
    global title
    title = new
""",
    "php": """
$title = 'Welcome';
function render_home(): string
{
    echo "rendering\\n";
    return "<h1>{$GLOBALS['title']}</h1>";
}
function store(string $new): void
{
    $GLOBALS['title'] = $new;
}
""",
    "js": """
let title = 'Welcome'
const renderHome = async () => {
  console.log('rendering')
  return `<h1>${title}</h1>`
}
const store = async (to) => {
  title = to
}
""",
}
NODES = {
    "python": """
def execute(sizes):
    return cost([min(size, 8) for size in sizes])
""",
    "php": """
function execute(array $sizes): int
{
    return cost(array_map(fn (int $size) => min($size, 8), $sizes));
}
""",
    "js": """
const execute = async (sizes) => cost(sizes.map((size) => Math.min(size, 8)))
""",
}
QUEUE = {
    "python": """
def put_back(job, minutes):
    pass
""",
    "php": """
function put_back(array $job, int $minutes): void
{
}
""",
    "js": """
const putBack = async () => {}
""",
}
# Another limiter: 5 for each user.
OLD = {
    "python": """
import collections
import types
counts = collections.Counter()
def allows(user):
    counts[user] += 1
    return counts[user] <= 5
old = types.SimpleNamespace(allows=allows)
""",
    "php": """
$old = new class {
    private array $counts = [];
    function allows(string $user): bool
    {
        $this->counts[$user] = ($this->counts[$user] ?? 0) + 1;
        return $this->counts[$user] <= 5;
    }
};
""",
    "js": """
const counts = {}
const old = {
  async allows(user) {
    counts[user] = (counts[user] ?? 0) + 1
    return counts[user] <= 5
  },
}
""",
}
# Locks with the calls of redis-py and of redlock.
OLD_LOCK = {
    "python": """
import contextlib
import types
class LockError(Exception):
    pass
held = set()
@contextlib.contextmanager
def old_lock(name, timeout, blocking):
    if name in held:
        raise LockError
    held.add(name)
    try:
        yield
    finally:
        held.remove(name)
old = types.SimpleNamespace(lock=old_lock)
""",
    "php": """
$redlock = new class {
    private array $held = [];
    function lock(string $name, int $ttl): array|false
    {
        if (isset($this->held[$name])) {
            return false;
        }
        $this->held[$name] = true;
        return ['resource' => $name];
    }
    function unlock(array $lock): void
    {
        unset($this->held[$lock['resource']]);
    }
};
""",
    "js": """
class ExecutionError extends Error {}
const held = new Set()
const redlock = {
  async acquire([name]) {
    if (held.has(name)) throw new ExecutionError()
    held.add(name)
    return { release: async () => held.delete(name) }
  },
}
""",
}
# By page. A page that is not listed has all that it needs.
PRELUDES = {
    "cache-slow-page": HOME,
    "cron-on-one-server": REPORT,
    "graphql-cost": NODES,
    "llm-token-budget": MODEL,
    "login-limits": PASSWORDS,
    "outgoing-api-calls": PARTNER,
    "queue-workers": QUEUE,
    "replace-a-limiter": OLD,
    "replace-a-lock": OLD_LOCK,
    "webhooks-once": ORDERS,
}
# Examples that are parts of applications, by page and place: tests/frameworks runs them.
OF_FRAMEWORKS = {("login-limits", 1), ("llm-token-budget", 1), ("replace-a-limiter", 1)}
