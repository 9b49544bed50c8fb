/** Bundles the console. */

/**
 * Bundles a page with Preact for browsers: its first script `console.js`, and those that it loads later. Standard twin:
 * esbuild, with the same options.
 */
export async function bundlePage(entry: string): Promise<[name: string, text: string][]> {
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    target: 'browser',
    minify: true,
    splitting: true,
    naming: { entry: 'console.js', chunk: '[name]-[hash].js' },
    jsx: { runtime: 'automatic', importSource: 'preact' },
  })
  return Promise.all(
    outputs.map(async (output) => [output.path.replace(/^.*\//, ''), await output.text()] as [string, string]),
  )
}
