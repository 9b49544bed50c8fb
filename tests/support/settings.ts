/** Changes settings of the running process for tests: the only code that may, since `config` is read-only elsewhere. */
import { type Config, config } from '../../src/base/config'

export type ChangedSettings = Disposable & {
  /** Puts the former values back. */
  restore(): void
}

/**
 * Changes settings until the end of the block (`using settings = withSettings({ … })`), or until `restore` is called:
 * in `afterAll`, for a change that `beforeAll` makes.
 */
export function withSettings(changes: Partial<Config>): ChangedSettings {
  const names = Object.keys(changes) as (keyof Config)[]
  const former = Object.fromEntries(names.map((name) => [name, config[name]]))
  Object.assign(config, changes)
  const restore = () => void Object.assign(config, former)
  return { restore, [Symbol.dispose]: restore }
}
