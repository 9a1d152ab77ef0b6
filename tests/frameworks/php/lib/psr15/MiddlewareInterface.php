<?php

declare(strict_types=1);

namespace Psr\Http\Server;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

/** As PSR-15 has it: Debian has no package of it. */
interface MiddlewareInterface
{
    /** Handles a request, or hands it on. */
    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface;
}
