<?php

declare(strict_types=1);

namespace Quotalock\Symfony\Security;

use Quotalock\Client;
use Quotalock\Symfony\RateLimiter\AbstractRequestLimiter;
use Quotalock\Symfony\RateLimiter\LimiterFactory;
use Symfony\Component\HttpFoundation\Request;

use function Quotalock\client_address;

/**
 * Throttles logins: of a user from an address, and five times as many of anybody from that address. Name it in
 * `login_throttling: { limiter: quotalock.login_limiter }` of a firewall.
 *
 * An IPv6 address counts as its /64 network. Neither names nor addresses are stored, but what a secret makes of them.
 */
final class LoginLimiter extends AbstractRequestLimiter
{
    private readonly LimiterFactory $ofUser;

    private readonly LimiterFactory $ofAddress;

    /**
     * @param int $attempts of a user
     * @param string $interval for each
     * @param non-empty-string $secret
     */
    public function __construct(
        Client $client,
        #[\SensitiveParameter] private readonly string $secret,
        int $attempts = 5,
        string $interval = '1 minute',
    ) {
        parent::__construct($client);
        if ($secret === '') {
            throw new \LogicException('The login limiter needs a secret that is not empty: set framework.secret.');
        }
        $settings = ['policy' => 'fixed_window', 'interval' => $interval, 'scope' => 'login'];
        $this->ofUser = new LimiterFactory($client, ['id' => 'login_user', 'limit' => $attempts] + $settings);
        $this->ofAddress = new LimiterFactory($client, ['id' => 'login_address', 'limit' => 5 * $attempts] + $settings);
    }

    protected function getLimiters(Request $request): array
    {
        // The attribute has this name in every version; the class that names it does not.
        $name = (string) $request->attributes->get('_security.last_username', '');
        $name = preg_match('//u', $name) ? mb_strtolower($name, 'UTF-8') : strtolower($name);
        // Firewalls have users of their own.
        $firewall = (string) $request->attributes->get('_firewall_context', '');
        $address = client_address($request->getClientIp() ?? '', null, []);
        return [
            $this->ofUser->create($this->hash("$firewall\0$name\0$address")),
            $this->ofAddress->create($this->hash("$firewall\0$address")),
        ];
    }

    private function hash(string $text): string
    {
        return substr(hash_hmac('sha256', $text, $this->secret), 0, 32);
    }
}
