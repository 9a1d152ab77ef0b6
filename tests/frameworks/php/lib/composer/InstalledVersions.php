<?php

declare(strict_types=1);

namespace Composer;

/** What Symfony asks Composer: which of its components the application has. All there are, as its own packages. */
final class InstalledVersions
{
    /** Whether it is there: only as part of what is fetched as a whole. */
    public static function isInstalled(string $package, bool $includeDevRequirements = true): bool
    {
        return false;
    }

    /** The application. */
    public static function getRootPackage(): array
    {
        return ['name' => ''];
    }
}
