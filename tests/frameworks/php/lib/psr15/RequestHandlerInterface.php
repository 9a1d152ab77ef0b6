<?php

declare(strict_types=1);

namespace Psr\Http\Server;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

/** As PSR-15 has it: Debian has no package of it. */
interface RequestHandlerInterface
{
    /** Answers a request. */
    public function handle(ServerRequestInterface $request): ResponseInterface;
}
