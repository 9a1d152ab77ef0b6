<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\WordPress;

use PHPUnit\Framework\TestCase;
use Quotalock\Tests\Frameworks\WordPressSite;

use function Quotalock\Tests\php;
use function Quotalock\Tests\server;

require_once __DIR__ . '/../lib/wordpress.php';

/** The plugin, on WordPress' own hooks. */
final class PluginTest extends TestCase
{
    public function testLoginsOfANameAreThrottledFromEveryAddress(): void
    {
        $settings = ['url' => server(), 'login' => '2/minute', 'prefix' => 'wp' . bin2hex(random_bytes(4))];
        foreach (['192.0.2.1', '192.0.2.2'] as $address) {
            [$answer, $looked] = (new WordPressSite($settings, $address))->login('Ada');
            self::assertSame([null, true], [$answer, $looked]);
        }
        [$answer, $looked] = (new WordPressSite($settings, '192.0.2.3'))->login(' ada ');
        self::assertFalse($looked, 'the password was looked at');
        self::assertInstanceOf(\WP_Error::class, $answer);
        self::assertMatchesRegularExpression('/^Too many attempts: try again in \d+ s/', $answer->get_error_message());
        // The refused attempt cost its address nothing.
        self::assertNull((new WordPressSite($settings, '192.0.2.3'))->login('bob')[0]);
    }

    public function testLoginsFromAnAddressAreThrottledForEveryName(): void
    {
        $site = new WordPressSite(['url' => server(), 'login' => '2/minute'], '2001:db8::1');
        self::assertNull($site->login('ada')[0]);
        self::assertNull($site->login('bob')[0]);
        self::assertInstanceOf(\WP_Error::class, $site->login('eve')[0]);
    }

    public function testANameThatNobodyHasIsRefusedBeforeAnybodyLooks(): void
    {
        $site = new WordPressSite(['url' => server()]);
        [$answer, $looked] = $site->login(str_repeat('a', 2000));
        self::assertSame([400, false], [$answer->get_error_data()['status'], $looked]);
        self::assertNull($site->login('__proto__')[0]);
    }

    public function testTwoSitesOnOneRedisAreTwoLimits(): void
    {
        $settings = ['url' => server(), 'rest' => '1/minute', 'prefix' => 'wp' . bin2hex(random_bytes(4))];
        $admitted = [];
        foreach (['shop_', 'blog_', 'shop_'] as $GLOBALS['table_prefix']) {
            $admitted[] = (new WordPressSite($settings))->rest()[0] === null;
        }
        unset($GLOBALS['table_prefix']);
        self::assertSame([true, true, false], $admitted);
    }

    public function testPagesOfAnotherOriginReadTheHeadersIfTheSettingsSaySo(): void
    {
        remove_all_filters('rest_exposed_cors_headers');
        new WordPressSite(['url' => server()]);
        self::assertSame(['Link'], apply_filters('rest_exposed_cors_headers', ['Link']));
        new WordPressSite(['url' => server(), 'expose_headers' => true]);
        $exposed = apply_filters('rest_exposed_cors_headers', ['Link']);
        self::assertSame(['Link', 'RateLimit-Policy', 'RateLimit', 'Retry-After'], $exposed);
    }

    public function testRestIsThrottledForAnAddressAndForAUser(): void
    {
        $site = new WordPressSite(['url' => server(), 'rest' => '1/minute']);
        [$answer, $headers] = $site->rest();
        self::assertNull($answer);
        self::assertStringContainsString('"~wordpress-rest:/:', $headers['RateLimit']);
        self::assertArrayNotHasKey('Retry-After', $headers);
        [$answer, $headers] = $site->rest();
        self::assertSame(429, $answer->get_error_data()['status']);
        self::assertGreaterThan(0, (int) $headers['Retry-After']);
        WordPressSite::$user = 7;
        self::assertNull($site->rest()[0]);
    }

    public function testForwardedAddressesAreBelievedFromNamedProxiesOnly(): void
    {
        $settings = ['url' => server(), 'rest' => '1/minute', 'prefix' => 'wp' . bin2hex(random_bytes(4))];
        $ask = function (array $trusted, string $forwarded) use ($settings): bool {
            $site = new WordPressSite($settings + ['trusted' => $trusted], '10.0.0.1');
            $_SERVER['HTTP_X_FORWARDED_FOR'] = $forwarded;
            return $site->rest()[0] === null;
        };
        self::assertSame([true, false], [$ask([], '192.0.2.1'), $ask([], '192.0.2.2')]);
        self::assertSame(
            [true, true, false],
            [$ask(['10.0.0.0/8'], '192.0.2.1'), $ask(['10.0.0.0/8'], '192.0.2.2'), $ask(['10.0.0.0/8'], '192.0.2.2')],
        );
    }

    public function testWithoutRedisItDoesAsItsSettingSays(): void
    {
        $away = ['url' => 'redis://127.0.0.1:1', 'login' => '2/minute', 'rest' => '2/minute'];
        self::assertNull((new WordPressSite($away))->login('ada')[0]);
        $closed = new WordPressSite($away + ['on_error' => 'closed']);
        self::assertInstanceOf(\WP_Error::class, $closed->login('ada')[0]);
        self::assertSame(503, $closed->rest()[0]->get_error_data()['status']);
    }

    public function testXmlRpcIsAnsweredBeforeWordPressDoesAnything(): void
    {
        $code = sprintf(
            'ob_start(); putenv("QUOTALOCK_FRAMEWORKS=wordpress"); require %s; require %s; const XMLRPC_REQUEST = true;'
                . 'function status_header($code) { echo "status $code\n"; }'
                . '$_SERVER["REMOTE_ADDR"] = "192.0.2.1";'
                . '(new Quotalock\WordPress\Plugin(["url" => "memory://", "xmlrpc" => "1/minute"]))->register();'
                . 'do_action("init"); echo "first\n"; do_action("init"); echo "after\n";',
            var_export(__DIR__ . '/../autoload.php', true),
            var_export(__DIR__ . '/../lib/wordpress.php', true),
        );
        [$output, $exit] = php($code);
        self::assertSame(0, $exit, $output);
        self::assertStringStartsWith("first\nstatus 429\n{", $output);
        self::assertStringContainsString('quota-exceeded', $output);
        self::assertStringNotContainsString('after', $output);
    }

    public function testAdministratorsAreToldOfAWrongSetting(): void
    {
        self::assertSame('', (new WordPressSite(['url' => server()]))->notices());
        $notices = (new WordPressSite(['url' => server(), 'login' => 'ten a minute']))->notices();
        self::assertStringContainsString('Quotalock limits nothing', $notices);
        self::assertStringContainsString('QUOTALOCK_LOGIN: ', $notices);
        $everybody = (new WordPressSite(['url' => server(), 'trusted' => ['0.0.0.0/0']]))->notices();
        self::assertStringContainsString('Quotalock limits nothing', $everybody);
    }
}
