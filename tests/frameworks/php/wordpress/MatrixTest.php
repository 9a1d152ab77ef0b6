<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\WordPress;

use PHPUnit\Framework\TestCase;
use Quotalock\Client;
use Quotalock\Testing;
use Quotalock\Tests\Frameworks\PlaysMatrix;
use Quotalock\Tests\Frameworks\WordPressSite;

require_once __DIR__ . '/../lib/wordpress.php';

/** The matrix for the plugin: its own limits, of logins and of the REST interface, in sites and for whom they count. */
final class MatrixTest extends TestCase
{
    use PlaysMatrix;

    /** @var array<string, mixed> the settings of the site, by the prefix of its tables */
    private array $sites;

    private bool $isLogin;

    protected function build(array $limits, Client $client): void
    {
        $keys = array_column($limits, 'key');
        $this->isLogin = $keys !== [];
        $this->sites = [];
        foreach ($limits as $limit) {
            // A login has one policy, for the address and for the name: the first.
            $this->sites[$limit['mount'] ?? '/'] ??= [
                'url' => $client->server, 'prefix' => $client->prefix,
                'login' => $this->isLogin ? $limit['policy'] : '', 'rest' => $limit['policy'],
                'expose_headers' => $limit['expose_headers'] ?? false,
            ];
        }
    }

    protected function ask(array $asked): array
    {
        $mount = count($this->sites) > 1 ? substr($asked['path'], 0, 2) : '/';
        $GLOBALS['table_prefix'] = strtr($mount, '/', '_');
        $site = new WordPressSite($this->sites[$mount], $asked['address']);
        if ($this->isLogin) {
            // WordPress makes a text of what is sent, and refuses an empty name before it looks at a password.
            $name = $asked['fields']['user'] ?? '';
            $name = is_scalar($name) ? (string) $name : '';
            [$answer, $looked] = $site->login($name);
            return [$name === '' ? 400 : ($looked ? 200 : $answer->get_error_data()['status'] ?? 429), []];
        }
        [$answer, $headers] = $site->rest();
        $exposed = apply_filters('rest_exposed_cors_headers', []);
        $headers += $exposed === [] ? [] : ['access-control-expose-headers' => implode(', ', $exposed)];
        $status = $answer === null ? 200 : $answer->get_error_data()['status'];
        return [$status === 200 && str_starts_with($asked['path'], '/nowhere') ? 404 : $status, $headers];
    }

    protected function tearDown(): void
    {
        unset($GLOBALS['table_prefix']);
        remove_all_filters('rest_exposed_cors_headers');
    }

    protected static function none(): array
    {
        $own = 'the limits are of the plugin, not of routes';
        return [
            'two_methods' => $own, 'two_key_functions' => $own, 'two_classes' => $own, 'defaults' => $own,
            'one_name_twice' => $own, 'name_of_a_view' => $own, 'head_and_options' => $own, 'own_body' => $own,
            'twice_on_the_way' => 'each request that WordPress dispatches counts, also those within a batch',
            'websocket' => 'WordPress has none',
        ];
    }

    protected static function onError(): ?string
    {
        return 'open';
    }

    protected static function accepted(): array
    {
        // Names like any other, which no user has.
        return ['a control character', 'NUL', 'no UTF-8', 'a surrogate', 'a fraction', 'a flag'];
    }
}
