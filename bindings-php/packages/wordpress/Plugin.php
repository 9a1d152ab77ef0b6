<?php

declare(strict_types=1);

namespace Quotalock\WordPress;

use Quotalock\Client;
use Quotalock\CombinedDecision;
use Quotalock\Decision;
use Quotalock\Exception\QuotalockException;
use Quotalock\Limiter;

use function Quotalock\client_address;

/** Puts limits before WordPress' login, XML-RPC and REST interface. */
final class Plugin
{
    private const DEFAULTS = [
        'url' => null, 'prefix' => null, 'login' => '5/minute;20/hour', 'xmlrpc' => '10/minute', 'rest' => '100/minute',
        'on_error' => 'open', 'trusted' => [], 'expose_headers' => false,
    ];

    /** Before WordPress looks at the password, which takes a server a tenth of a second. */
    private const EARLY = 1;

    /** Bytes of a name that somebody may have. */
    private const LONGEST = 256;

    private Client $client;

    /** @var array<string, mixed> */
    private readonly array $settings;

    private Decision|CombinedDecision|null $decision = null;

    /** @param array<string, mixed> $settings those of DEFAULTS that are others */
    public function __construct(array $settings = [])
    {
        $this->settings = $settings + self::DEFAULTS;
    }

    /** Hooks into WordPress; without the extension tells administrators what to install, and limits nothing. */
    public function register(): void
    {
        $problem = 'the PHP extension "ratelimit" is not loaded: install it, as docs/versions.md of'
            . " Quotalock's repository describes, and restart PHP";
        try {
            if (extension_loaded('ratelimit')) {
                $this->hook();
                return;
            }
        } catch (QuotalockException | \LogicException $wrong) {
            $problem = $wrong->getMessage();
        }
        add_action('admin_notices', function () use ($problem): void {
            $text = esc_html("Quotalock limits nothing: $problem");
            echo "<div class=\"notice notice-error\"><p>$text</p></div>";
        });
    }

    /** A login: an error of WordPress' instead of a look at the password. */
    public function authenticate(mixed $user, mixed $name): mixed
    {
        $name = is_string($name) ? strtolower(trim($name)) : '';
        if ($name === '') {
            return $user;
        }
        if (strlen($name) > self::LONGEST) {
            // WordPress' own names are at most 60 bytes, addresses at most 100: nobody has this one.
            remove_all_filters('authenticate');
            return new \WP_Error('quotalock', 'The name is too long.', ['status' => 400]);
        }
        $decision = $this->client->consumeAll([
            [$this->limiter('login'), "user:$name"],
            [$this->limiter('login'), 'address:' . $this->address()],
        ]);
        if ($decision->allowed) {
            return $user;
        }
        $this->decision = $decision;
        $this->sendHeaders();
        // Nobody looks at the password any more: these are WordPress' own steps of a login.
        remove_all_filters('authenticate');
        $seconds = (int) ceil(($decision->retryAfterMs ?? 0) / 1000);
        return new \WP_Error('quotalock', sprintf('Too many attempts: try again in %d seconds.', $seconds));
    }

    /** A request to xmlrpc.php. */
    public function xmlrpc(): void
    {
        if (defined('XMLRPC_REQUEST') && XMLRPC_REQUEST) {
            $this->decision = $this->limiter('xmlrpc')->consume($this->address());
            if (!$this->decision->allowed) {
                $this->refuse();
            }
        }
    }

    /** A request to the REST interface: a problem instead of an answer. */
    public function rest(mixed $result, mixed $server, mixed $request): mixed
    {
        $user = get_current_user_id();
        $key = $user > 0 ? "user:$user" : 'address:' . $this->address();
        $this->decision = $this->limiter('rest')->consume($key);
        if ($this->decision->allowed) {
            return $result;
        }
        $problem = $this->decision->problem();
        return new \WP_Error('quotalock', $problem['title'], $problem);
    }

    /** Adds the headers to an answer of the REST interface. */
    public function restHeaders(mixed $response): mixed
    {
        foreach ($this->decision?->headers() ?? [] as $name => $value) {
            $response->header($name, $value);
        }
        return $response;
    }

    private function hook(): void
    {
        $settings = $this->settings;
        $this->client = new Client($settings['url'], $settings['prefix'], null, $settings['on_error']);
        // What cannot be is told of here, and not to whoever logs in.
        client_address('192.0.2.1', null, $settings['trusted']);
        foreach (['login', 'xmlrpc', 'rest'] as $name) {
            try {
                $settings[$name] !== '' && $this->limiter($name);
            } catch (QuotalockException $wrong) {
                throw new \LogicException('QUOTALOCK_' . strtoupper($name) . ": {$wrong->getMessage()}", 0, $wrong);
            }
        }
        $settings['login'] !== '' && add_filter('authenticate', $this->authenticate(...), self::EARLY, 2);
        $settings['xmlrpc'] !== '' && add_action('init', $this->xmlrpc(...), self::EARLY);
        if ($settings['rest'] !== '') {
            add_filter('rest_pre_dispatch', $this->rest(...), self::EARLY, 3);
            add_filter('rest_post_dispatch', $this->restHeaders(...));
            if ($settings['expose_headers']) {
                $ours = ['RateLimit-Policy', 'RateLimit', 'Retry-After'];
                $all = fn (mixed $theirs): array => [...(array) $theirs, ...$ours];
                add_filter('rest_exposed_cors_headers', $all);
            }
        }
    }

    private function limiter(string $name): Limiter
    {
        // The keys of a login are decided in one call, so they lie in one slot of a cluster.
        $policy = $this->settings[$name];
        return $this->client->limiter($this->name($name, $policy), $policy, $name === 'login' ? 'login' : null);
    }

    /**
     * What a limit is called: `~wordpress-ACTION:SITE:DIGEST`. Two sites on one Redis differ in their database, the
     * prefix of its tables or their secret keys, of which a digest says nothing.
     */
    private function name(string $action, string $policy): string
    {
        $constant = fn (string $name): string => defined($name) ? (string) constant($name) : '';
        $site = $constant('DB_NAME') . '/' . ($GLOBALS['table_prefix'] ?? '');
        $parts = [$action, $site, $constant('AUTH_KEY'), $constant('AUTH_SALT'), $policy];
        $readable = substr(preg_replace('/[^!-~]|[{}:]/', '_', $site), 0, 60);
        return "~wordpress-$action:$readable:" . substr(hash('sha256', serialize($parts)), 0, 16);
    }

    private function address(): string
    {
        $forwarded = $_SERVER['HTTP_X_FORWARDED_FOR'] ?? null;
        return client_address($_SERVER['REMOTE_ADDR'] ?? '', $forwarded, $this->settings['trusted']);
    }

    private function sendHeaders(): void
    {
        if (!headers_sent()) {
            foreach ($this->decision->headers() as $name => $value) {
                header("$name: $value");
            }
        }
    }

    private function refuse(): never
    {
        $problem = $this->decision->problem();
        $this->sendHeaders();
        status_header($problem['status']);
        header('Content-Type: application/problem+json');
        exit(json_encode($problem, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES));
    }
}
