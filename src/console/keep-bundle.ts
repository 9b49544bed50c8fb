/** Keeps the files of the console beside their sources, when an image is built: `bun src/console/keep-bundle.ts`. */
import { writeFileSync } from 'node:fs'
import { KEPT, makeFiles } from './bundle'

writeFileSync(KEPT, JSON.stringify(await makeFiles()))
