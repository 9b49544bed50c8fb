/** The bare limit of mail: the same two libraries, nothing stored, in a separate process. */
import { simpleParser } from 'mailparser'
import { SMTPServer } from 'smtp-server'

new SMTPServer({
  authOptional: true,
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  logger: false,
  onData(stream, _session, callback) {
    simpleParser(stream, { skipImageLinks: true }).then(
      () => callback(),
      (error) => callback(error),
    )
  },
}).listen(Number(process.env.BENCH_SMTP_PORT), '127.0.0.1')
