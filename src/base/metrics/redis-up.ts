/** Shows if Redis is reached, where REDIS_URL is set. */
import { Gauge } from 'prom-client'

/** Registers the gauge. Call it once. */
export function showRedis(isUp: () => boolean): void {
  new Gauge({
    name: 'deskwire_redis_up',
    help: 'Whether this process reaches Redis; while it does not, it counts limits alone',
    collect() {
      this.set(isUp() ? 1 : 0)
    },
  })
}
