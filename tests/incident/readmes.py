"""What the examples of each README, and of the pages beside the guides, take for granted, and what they print."""

from __future__ import annotations

from guides import CLIENT, patient

# What a fenced block may be written in: the languages, which run, and what is checked in another way.
LANGUAGES = ("python", "php", "js")
CHECKED_OTHERWISE = {
    "sql": "runs in SQLite",
    "": "commands: targets of the Makefile, and what Redis takes",
    "text": "a drawing, a signature (the tests of reflection compare it), or what a recipe prints (test_recipes does)",
    "console": "the program `quotalock`, which tests/cli runs",
}

# What a block takes for granted, by what it mentions; a block that makes its own client gets none.
_TAKEN_FOR_GRANTED = {
    "python": {
        "quotalock.": "import quotalock\n",
        "client.": CLIENT["python"],
        "ship(": "def ship(token):\n    assert token > 0\n",
        "old.lock(": """
import contextlib
import types
old = types.SimpleNamespace(lock=lambda name, timeout: contextlib.nullcontext())
""",
    },
    "php": {
        "$client->": "$client = new Quotalock\\Client();\n",
        "$id": "$id = '42';\n",
        "$orderId": "$orderId = 'order:7';\n",
        "render(": "function render(string $page): string\n{\n    return $page;\n}\n",
        "$db": "$db = new class {\n    function user($id)\n    {\n        return ['id' => $id];\n    }\n};\n",
        "$event": "$event = (object) ['id' => 'event:1'];\n",
        "pay(": "function pay(object $event): string\n{\n    return 'receipt 7';\n}\n",
        "ship(": "function ship(int $token): void\n{\n    $token > 0 || exit('no token');\n}\n",
        "$redlock->": """
$redlock = new class {
    function lock($name, $ttl)
    {
        return [$name, $ttl];
    }
    function unlock($lock)
    {
    }
};
""",
    },
    "js": {
        "client.": CLIENT["js"],
        "ship(": "const ship = async (token) => { if (!(token > 0)) throw new Error('no token') }\n",
        "requestId": "const requestId = 'request:1'\n",
        "render(": "const render = () => '<h1>Home</h1>'\n",
        "event": "const event = { id: 'event:1' }\n",
        "pay(": "const pay = async () => 'receipt 7'\n",
        "redlock.": "const redlock = { acquire: async () => ({ release: async () => {} }) }\n",
    },
}
# Looks at the names that a block makes, or that its comments promise, as they come.
_LOOKS = {
    "python": {
        "\ndecision = ": "assert (decision.allowed, decision.remaining, decision.retry_after) == (True, 9, 0.0)\n",
        "taken": "assert taken.outcome in ('held', 'not_open')\n",
        "receipt": "assert receipt == b'receipt 7'\n",
        "def exclusively": "with exclusively('ship:7') as lock:\n    assert lock.held\n",
        "page": "assert page.lower() == b'<h1>home</h1>'\n",
        "def application": """
answers = []
for _ in range(11):
    application({"REMOTE_ADDR": "192.0.2.1"}, lambda status, headers: answers.append((status, dict(headers))))
assert [status for status, _ in answers] == ["200 OK"] * 10 + ["429 Too Many Requests"]
assert 50 < int(answers[10][1]["Retry-After"]) <= 60, answers
""",
    },
    "php": {
        "$decision": "[$decision->allowed, $decision->retryAfterMs] === [true, 0] || exit('not allowed');\n",
        "$taken": "$taken->outcome === 'held' || exit($taken->outcome);\n",
        "$html": "$html === 'home' || exit($html);\n",
        "$user": "$user === ['id' => '42'] || exit(json_encode($user));\n",
        "$receipt": "$receipt === 'receipt 7' || exit($receipt);\n",
        "$exclusively": "$exclusively('ship:7', fn (int $token) => $token > 0) === true || exit('not held');\n",
        "$isFirst": "$isFirst === true || exit('another was first');\n",
    },
    "js": {
        "\nconst decision": ";[decision.allowed, decision.retryAfterMs].join() === 'true,0' || console.log('denied')\n",
        "retryAfterMs }": ";[allowed, remaining, retryAfterMs].join() === 'true,9,0' || console.log('denied')\n",
        "outcome,": ";(await sale.status()).sold === 2 || console.log(outcome)\n",
        "const page ": "String(page) === '<h1>Home</h1>' || console.log(page)\n",
        "function exclusively": """
;(await exclusively('ship:7', async (token) => token > 0)) === true || console.log('not held')
""",
        "const receipt": "String(receipt) === 'receipt 7' || console.log(receipt)\n",
        "function handle": """
const answers = []
const response = {
  setHeader: (name, value) => answers.push(`${name}: ${value}`),
  writeHead: (status) => answers.push(status) && response,
  end: () => {},
}
for (let call = 0; call < 11; call += 1) await handle({ socket: { remoteAddress: '192.0.2.1' } }, response)
;/^Retry-After: (5[1-9]|60),429$/.test(answers.slice(-2).join()) || console.log(answers)
""",
    },
}
# What a block prints, as a regular expression, by a line in it.
_PRINTED = {
    "print(decision.allowed": r"True 9 0\.0\n",
    "print(lock.token": r"[1-9]\d+ True\n",
    "print(answer.allowed": r"(True \d False\n){10}False 0 True\n",
    "echo json_encode([$answer->allowed": r"(\[true,\d,false\]\n){10}\[false,0,true\]\n",
    "console.log([answer.allowed": r"(true \d false\n){10}false 0 true\n",
}


def program(language: str, code: str, url: str) -> str:
    """A block as a program of its own: with what it takes for granted, and looks at what it made."""
    before = "<?php\n" if language == "php" else ""
    for mentioned, given in _TAKEN_FOR_GRANTED[language].items():
        makes_it = mentioned.startswith(("client", "$client")) and "lient = " in code
        before += given if mentioned in code and not makes_it else ""
    after = "".join(look for made, look in _LOOKS[language].items() if made in code)
    return patient(language, before + code).replace("redis://127.0.0.1:6379", url) + after


def printed(code: str) -> str:
    """What a block prints."""
    return "".join(pattern for line, pattern in _PRINTED.items() if line in code)
