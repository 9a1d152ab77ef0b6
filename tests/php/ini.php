<?php

/** Where a client's settings come from: the argument, the ini setting, the environment, the default. */

declare(strict_types=1);

namespace Quotalock\Tests;

/** The server of a client made by this code, with these ini settings and this environment. */
function madeBy(string $arguments, array $ini = [], array $environment = []): string
{
    $options = [];
    foreach ($ini as $name => $value) {
        array_push($options, '-d', "ratelimit.$name=$value");
    }
    return php("echo (new Quotalock\\Client($arguments))->server;", $options, $environment)[0];
}

test('an argument goes before ini, ini before the environment, that before the default', function () {
    $environment = ['QUOTALOCK_URL' => 'redis://environment:1'];
    $ini = ['url' => 'redis://ini:1'];
    same('argument:1', madeBy('"redis://argument:1"', $ini, $environment), 'the server with all three');
    same('ini:1', madeBy('', $ini, $environment), 'the server without argument');
    same('ini:1', madeBy('null', $ini, $environment), 'the server with null');
    same('environment:1', madeBy('', [], $environment), 'the server without ini');
    same('127.0.0.1:6379', madeBy(''), 'the server by default');
});

test('an empty setting is none', function () {
    same('environment:1', madeBy('', ['url' => ''], ['QUOTALOCK_URL' => 'redis://environment:1']), 'with empty ini');
    same('127.0.0.1:6379', madeBy('', ['url' => ''], ['QUOTALOCK_URL' => '']), 'with empty environment');
    contains('redis://', madeBy('""'));
});

test('an ini file and ini_set set them too', function () {
    $folder = sys_get_temp_dir() . '/quotalock-ini-' . bin2hex(random_bytes(6));
    mkdir($folder);
    file_put_contents("$folder/php.ini", "[ratelimit]\nratelimit.url = \"redis://file:1\"\nratelimit.prefix = file\n");
    $code = '$a = new Quotalock\Client(); ini_set("ratelimit.url", "redis://runtime:1"); ini_set("ratelimit.prefix", '
        . '"run"); $b = new Quotalock\Client(); echo "$a->server $a->prefix $b->server $b->prefix";';
    [$output] = php($code, ['-c', $folder]);
    same('file:1 file runtime:1 run', $output, 'the settings before and after');
    unlink("$folder/php.ini");
    rmdir($folder);
});

test('on_error, prefix and timeout come from ini as well', function () {
    $code = '$c = new Quotalock\Client(); echo $c->prefix, " ", $c->limiter("n", "1/s")->consume("k")->source;'
        . 'try { (new Quotalock\Client(onError: "raise"))->limiter("n", "1/s")->consume("k"); }'
        . ' catch (Quotalock\Exception\UnavailableException $e) { echo " ", $e->getErrorCode(); }';
    $options = ['-d', 'ratelimit.url=redis://127.0.0.1:' . freePort(), '-d', 'ratelimit.on_error=open'];
    [$output] = php($code, [...$options, '-d', 'ratelimit.prefix=mine', '-d', 'ratelimit.timeout_ms=250']);
    same('mine open unavailable', $output, 'the settings');
});

test('the timeout of ini is kept', function () {
    $server = new RedisServer();
    $server->signal(SIGSTOP);
    $code = '$t = hrtime(true); try { Quotalock\limit("n", "k", "1/s"); }'
        . ' catch (Quotalock\Exception\TimeoutException) { echo (int) ((hrtime(true) - $t) / 1e6); }';
    [$output] = php($code, ['-d', "ratelimit.url={$server->url()}", '-d', 'ratelimit.timeout_ms=120']);
    holds((int) $output >= 110 && (int) $output < 1500, "that \"$output\" ms is about 120");
});

test('a setting that cannot be is refused, with its value', function () {
    $bad = [['timeout_ms', 'soon'], ['timeout_ms', '0'], ['timeout_ms', '-5'], ['timeout_ms', '1.5']];
    foreach ([...$bad, ['on_error', 'sometimes'], ['prefix', '{a}']] as [$name, $value]) {
        $output = madeBy('"memory://"', [$name => $value]);
        contains('Quotalock\Exception\InvalidArgumentException', $output);
        contains($value, $output);
    }
    contains('InvalidArgumentException', madeBy('', ['url' => 'http://x']));
});

test('the one-line function uses these settings', function () {
    $prefix = prefix();
    $code = 'var_dump(Quotalock\limit("n", "k", "2/minute", 2), Quotalock\limit("n", "k", "2/minute"));';
    [$output] = php($code, ['-d', "ratelimit.prefix=$prefix"], ['QUOTALOCK_URL' => server()]);
    same("bool(true)\nbool(false)\n", $output, 'the answers');
    same(1, redis(server())->exists("$prefix:limit:n:{k}"), 'whether the key is there');
});
