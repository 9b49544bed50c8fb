/** A process that runs an embedded PostgreSQL until SIGTERM. Arguments: DATA_DIR, options as JSON. */
import { startEmbedded } from '../../src/base/db/embedded/supervise'

const [data_dir = '', options = '{}'] = process.argv.slice(2)

startEmbedded(data_dir, JSON.parse(options)).then(
  (server) => {
    process.on('SIGTERM', () => server.stop().then(() => process.exit(0)))
    setInterval(() => {}, 60_000)
    console.log(JSON.stringify({ connection: server.connection }))
  },
  (error: Error) => {
    console.log(JSON.stringify({ error: error.constructor.name, message: error.message }))
    process.exit(1)
  },
)
