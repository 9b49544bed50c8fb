/**
 * Makes UUIDv7, for the present or for a time in milliseconds; without a time each comes after the last one. Standard
 * twin: `v7` of the package uuid. `randomUUIDv7` of `node:crypto` takes no time, and promises no order.
 */
export { randomUUIDv7 as newUuid } from 'bun'
