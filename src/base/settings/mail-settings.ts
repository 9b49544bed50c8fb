/** Settings of inbound mail, outgoing mail and webhooks. */
import { hostname } from 'node:os'
import {
  anyText,
  nameServers,
  networks,
  networksWithPorts,
  oneWordOf,
  type Setting,
  secondsList,
  textLike,
  url,
  wholeNumber,
} from './setting'

const CLIENTS = wholeNumber(1, 100_000)
const DAYS = wholeNumber(1, 36_500)
const HOST_AND_PORT =
  /^([\w-]+(\.[\w-]+)*\.?|\[[\da-f:.]+\])(:([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?$/i

export const MAIL_SETTINGS = {
  SMTP_PORT: {
    meaning: 'Port of the SMTP listener for inbound mail. `0` turns it off.',
    read: wholeNumber(0, 65_535),
    default: '2525',
    is_basic: true,
  },
  SMTP_HOSTNAME: {
    meaning: 'Name with which the SMTP listener greets its clients.',
    read: textLike(/^([\w-]+(\.[\w-]+)*|\[[\w.:]+\])$/, 'must be a host name, such as mail.example.com'),
    default: () => hostname(),
    default_words: 'the host name of the machine',
    is_basic: true,
  },
  SMTP_MAX_BYTES: {
    meaning: 'Largest inbound mail in bytes.',
    read: wholeNumber(1024, 1_000_000_000),
    default: '26214400',
  },
  SMTP_MAX_CLIENTS: {
    meaning:
      'SMTP connections at a time. One more gets `421`. A network of 24 bits of IPv4, or 48 of IPv6, gets a quarter of them, other than loopback and the relays of `SMTP_TRUSTED_RELAYS`.',
    read: CLIENTS,
    default: '1000',
  },
  SMTP_MAX_CLIENTS_PER_ADDRESS: {
    meaning:
      'SMTP connections at a time from one IPv4 address or one IPv6 network of 64 bits. Loopback and the relays of `SMTP_TRUSTED_RELAYS` have no such limit.',
    read: CLIENTS,
    default: '50',
  },
  SMTP_ALLOWED_NETWORKS: {
    meaning:
      'Networks (CIDRs, separated by commas) whose clients may bring mail, such as those of your relays. Others get `554`. Without it everybody may.',
    read: networks,
    default: '',
  },
  SMTP_TRUSTED_PROXIES: {
    meaning:
      'Networks (CIDRs, separated by commas) of the load balancers that send PROXY headers, such as AWS NLB with proxy protocol v2 or HAProxy with `send-proxy`. Each of their SMTP connections must begin with a header of version 1 or 2, and the address in it counts as the client.',
    read: networks,
    default: '',
  },
  SMTP_TRUSTED_RELAYS: {
    meaning:
      'Networks (CIDRs, separated by commas) of your own mail servers that relay mail to this service. SPF is judged by the address that their topmost `Received` field, or their XCLIENT command, names.',
    read: networks,
    default: '',
  },
  TRUSTED_AUTHSERV_ID: {
    meaning:
      'Name under which a trusted relay writes `Authentication-Results`. When the topmost of these fields has it, its result counts instead of our own. Set it only if the relay removes fields of that name from mail that comes in.',
    read: textLike(/^[\w.-]{1,255}$/, 'must be a name, such as mx.example.com'),
  },
  RSPAMD_URL: {
    meaning:
      'Address of an rspamd (its normal worker, such as `http://rspamd:11333`) that judges mail of which no trusted relay has said if it is spam. It gets the whole mail. Without an answer in 5 seconds mail is not judged.',
    read: url('http:', 'https:'),
  },
  CLAMD_HOST: {
    meaning:
      'Host and port of a clamd (`clamd`, `[fd00::1]:3310`; without a port 3310) that scans attachments. It gets their bytes. While it is away, files that came wait for it and are not handed out.',
    read: textLike(HOST_AND_PORT, 'must be a host, or host:port, such as clamd:3310'),
  },
  DNS_SERVERS: {
    meaning:
      'Addresses of DNS servers, separated by commas, that are asked when senders of mail and domains of mailboxes are checked, such as `10.0.0.53,[fd00::53]:5353`.',
    read: nameServers,
    default: '',
    default_words: "the system's",
  },
  MAILBOX_DOMAIN_CHECK: {
    meaning:
      "`on`: a mailbox receives and sends only when the domain of its address is verified as the organization's, by a TXT record or by `cli domain allow`.",
    read: oneWordOf(['on', 'off']),
    default: 'off',
  },
  RETRY_SCHEDULE_SECONDS: {
    meaning:
      'Seconds to wait before attempt 1, 2 and so on of a webhook delivery or an email. There are as many attempts as entries.',
    read: secondsList,
    default: '0,60,300,1800,7200',
  },
  EMAIL_GIVE_UP_SECONDS: {
    meaning:
      'Seconds for which an email waits for a mailbox whose server is at fault. After them it is given up: `failed`.',
    read: wholeNumber(1, 31_536_000),
    default: '432000',
  },
  EMAIL_INLINE_WAIT_MS: {
    meaning: 'Milliseconds that the request which creates a message waits for the first attempt to send it.',
    read: wholeNumber(0, 60_000),
    default: '10000',
  },
  WEBHOOK_ALLOWED_NETWORKS: {
    meaning: 'Networks (CIDRs, separated by commas) that webhooks may reach although they are not public.',
    read: networks,
    default: '',
  },
  WEBHOOK_CA_FILE: {
    meaning: 'PEM file with certificate authorities that receivers of webhooks may use, beside the public ones.',
    read: anyText,
  },
  IDENTITY_ALLOWED_NETWORKS: {
    meaning: 'Networks (CIDRs, separated by commas) in which identity providers may be although they are not public.',
    read: networks,
    default: '',
  },
  IDENTITY_CA_FILE: {
    meaning: 'PEM file with certificate authorities that identity providers may use, beside the public ones.',
    read: anyText,
  },
  MAIL_ALLOWED_NETWORKS: {
    meaning:
      "Networks (CIDRs, separated by commas) in which a mailbox's SMTP server may be although not public, at any port, or with `10.0.0.0/8:25` at one. Elsewhere it may be at the ports 25, 465, 587 and 2525.",
    read: networksWithPorts,
    default: '',
    is_basic: true,
  },
  MAIL_CA_FILE: {
    meaning: "PEM file with certificate authorities that a mailbox's SMTP server may use, beside the public ones.",
    read: anyText,
  },
  DELIVERY_HOLD_DAYS: {
    meaning: 'Days that deliveries wait for a failed webhook to be enabled again. Then they are cancelled.',
    read: DAYS,
    default: '7',
  },
  DELIVERY_RETENTION_DAYS: {
    meaning: 'Days until a finished webhook delivery is removed from the log.',
    read: DAYS,
    default: '30',
  },
  EVENT_RETENTION_DAYS: {
    meaning: 'Days until an event is removed from the feed.',
    read: wholeNumber(1, 365),
    default: '30',
  },
  LEDGER_RETENTION_DAYS: {
    meaning:
      'Days until a row of the mail ledger is removed, with what recognizes the mail when it is delivered again. `0` keeps all rows.',
    read: wholeNumber(0, 36_500),
    default: '730',
  },
  RAW_MAIL_RETENTION_DAYS: {
    meaning: 'Days until the original bytes of an inbound mail are removed.',
    read: DAYS,
    default: '30',
  },
} satisfies Record<string, Setting>
