/** The bare limit of mail: smtp-server and mailparser, which store nothing, in a separate process. */
import { simpleParser } from 'mailparser'
import { SMTPServer } from 'smtp-server'

const server = new SMTPServer({
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
})
server.listen(0, '127.0.0.1', () => {
  const address = server.server.address()
  if (address && typeof address === 'object') process.send?.({ port: address.port })
})
