/** The sentences of the API about fields, in German. A test names those that are missing. */
import type { Refusals } from './translated'

const TEXTS: Refusals['fields'] = [
  [/^must be text of (\d+) to (\d+) characters$/, 'muss Text von $1 bis $2 Zeichen sein'],
  [/^must be text of at most (\d+) characters$/, 'darf höchstens $1 Zeichen haben'],
  [/^must have at most (\d+) characters$/, 'darf höchstens $1 Zeichen haben'],
  [/^must have at most (\d+) characters together with the body$/, 'darf mit dem Text höchstens $1 Zeichen haben'],
  [/^makes a message of more than (\d+) characters$/, 'macht eine Nachricht von mehr als $1 Zeichen'],
  [/^must be text without control characters$/, 'darf keine Steuerzeichen enthalten'],
  [/^must have text or an image$/, 'braucht Text oder ein Bild'],
  [/^must be absent: only notes name members$/, 'darf nicht angegeben werden: nur Notizen nennen Mitglieder'],
  [/^must name no variables but (.*)$/, 'darf nur diese Variablen nennen: $1'],
  [/^must be 1 to 10 capital letters.*$/, 'muss 1 bis 10 Großbuchstaben und Ziffern haben, zuerst einen Buchstaben'],
  [/^must have the base64 of at least (\d+) bytes after (\w+)$/, 'braucht nach $2 das Base64 von mindestens $1 Bytes'],
  [/^must be an ISO 4217 code.*$/, 'muss eine Währung wie EUR sein'],
  [/^must be a name of the tz database.*$/, 'muss eine Zeitzone wie Europe/Berlin sein'],
  [/^must be text$/, 'muss Text sein'],
]

const ADDRESSES: Refusals['fields'] = [
  [/^must be an email address or a domain.*$/, 'muss eine E-Mail-Adresse oder eine Domain sein'],
  [/^must be an email address without a \+tag$/, 'muss eine E-Mail-Adresse ohne +Zusatz sein'],
  [/^must be an email address.*$/, 'muss eine E-Mail-Adresse sein'],
  [/^must be an address, or @ and a domain$/, 'muss eine Adresse sein, oder @ und eine Domain'],
  [/^must not be the address of a mailbox$/, 'darf nicht die Adresse eines Postfachs sein'],
  [/^is the address of a mailbox$/, 'ist die Adresse eines Postfachs'],
  [/^is the contact's or one of your own mailboxes$/, 'ist die des Kontakts oder eines Ihrer Postfächer'],
  [/^must be a domain.*$/, 'muss eine Domain wie example.com sein'],
  [/^must be the domain of the address, or one above it$/, 'muss die Domain der Adresse sein oder eine darüber'],
  [/^must be an https URL without query and fragment$/, 'muss eine Adresse mit https sein, ohne ? und #'],
  [/^must be an https URL without credentials$/, 'muss eine Adresse mit https sein, ohne Zugangsdaten'],
  [/^must be an https URL$/, 'muss eine Adresse mit https sein'],
  [/^must not hold credentials$/, 'darf keine Zugangsdaten enthalten'],
  [/^must not use port (\d+)$/, 'darf nicht den Port $1 haben'],
  [/^must be an origin.*$/, 'muss ein Ursprung wie https://help.example.com sein'],
  [/^must be a host.*$/, 'muss der Name eines Servers sein'],
  [/^must be labels of letters, digits and hyphens$/, 'darf nur Buchstaben, Ziffern, Bindestriche und Punkte haben'],
  [/^must be a port.*$/, 'muss ein Port von 1 bis 65535 sein'],
  [/^must be a network.*$/, 'muss ein Netz wie 203.0.113.0/24 oder eine Adresse sein'],
  [/^cannot be used: (.*)$/, 'ist nicht zu gebrauchen: $1'],
]

const NUMBERS: Refusals['fields'] = [
  [/^must be a whole number (?:of minutes )?from (\d+) to (\d+)$/, 'muss eine ganze Zahl von $1 bis $2 sein'],
  [/^must be a whole number of at least (\d+)$/, 'muss eine ganze Zahl ab $1 sein'],
  [/^must be a number from (\d+) to (\d+) with at most (\d+) decimals$/, 'muss von $1 bis $2 sein, mit $3 Stellen'],
  [/^must be a date.*$/, 'muss ein Datum sein'],
  [/^must be a time.*$/, 'muss ein Zeitpunkt sein'],
  [/^must be in the future$/, 'muss in der Zukunft liegen'],
  [/^must be within a year$/, 'muss innerhalb eines Jahres liegen'],
  [/^must be null: only people send later$/, 'muss leer sein: Nur Menschen senden später'],
  [/^must be null in a note$/, 'muss in einer Notiz leer sein'],
  [/^must be one of at most (\d+) in a ticket$/, 'wäre zu viel: In einem Ticket warten höchstens $1'],
  [/^must have at most (\d+) decimals in (\w+)$/, 'darf in $2 höchstens $1 Nachkommastellen haben'],
  [
    /^must not be before the oldest event that is kept$/,
    'darf nicht vor dem ältesten Ereignis liegen, das noch da ist',
  ],
  [/^leads to more than (\d+) deliveries$/, 'führt zu mehr als $1 Zustellungen'],
  [
    /^must begin a period in which time was logged on at most (\d+) tickets$/,
    'muss einen Zeitraum beginnen, in dem auf höchstens $1 Tickets Zeit steht',
  ],
  [/^must be true or false$/, 'muss ja oder nein sein'],
]

const LISTS: Refusals['fields'] = [
  [/^must be a list of at most (\d+) .*$/, 'darf höchstens $1 Einträge haben'],
  [/^must be a list of at least one .*$/, 'braucht mindestens einen Eintrag'],
  [/^must be a list of 1 to (\d+) .*$/, 'braucht 1 bis $1 Einträge'],
  [/^must be at most (\d+) UUIDs.*$/, 'darf höchstens $1 Einträge haben'],
  [/^must be at most (\d+) with the primary address$/, 'dürfen mit der Hauptadresse höchstens $1 sein'],
  [/^must be one of at most (\d+) views of its owner$/, 'wäre zu viel: Jeder hat höchstens $1 Ansichten'],
  [/^must be one of at most (\d+) (?:custom )?fields$/, 'wäre zu viel: Es gibt höchstens $1 eigene Felder'],
  [
    /^must be one (?:or more )?of (.*?)(?:, or a list of them|, separated by commas)?$/,
    'muss eines von diesen sein: $1',
  ],
  [/^there may be (\d+) rules at most$/, 'Es gibt höchstens $1 Regeln'],
  [/^must have at most (\d+) files together$/, 'dürfen zusammen höchstens $1 Dateien haben'],
  [/^must have at most (\d+) pictures and attachments together$/, 'darf höchstens $1 Bilder und Dateien haben'],
  [/^must leave the ticket with at most (\d+) merged ones$/, 'wären zu viele: In einem Ticket gehen höchstens $1 auf'],
  [/^have too many addresses$/, 'haben zusammen zu viele Adressen'],
  [/^have too many custom fields$/, 'haben zusammen zu viele eigene Felder'],
  [/^is one too many: a key has at most (\d+) drafts in a ticket$/, 'ist zu viel: Ein Schlüssel hat höchstens $1'],
]

const THINGS: Refusals['fields'] = [
  [/^must be messages of one ticket$/, 'müssen Nachrichten eines einzigen Tickets sein'],
  [/^must not name the ticket itself$/, 'darf nicht das Ticket selbst sein'],
  [/^must be neither the ticket itself nor one below it$/, 'darf weder das Ticket selbst sein noch eines darunter'],
  [/^must not have the contact itself$/, 'darf nicht der Kontakt selbst sein'],
  [/^must not be before the first day$/, 'darf nicht vor dem ersten Tag liegen'],
  [/^must end at most (\d+) days in all$/, 'ist zu weit weg: höchstens $1 Tage'],
  [/^must be absent: the ticket has a contact$/, 'geht nicht: Das Ticket hat einen Kontakt'],
  [/^must stand without a status other than pending$/, 'geht mit keinem anderen Status als Wartend'],
  [/^must name no label that is added$/, 'darf kein Label nennen, das dazukommt'],
  [/^must have at least one (?:change|filter of the list)$/, 'braucht mindestens eine Angabe'],
  [/^must be true for a view without an owner$/, 'muss ja sein, wenn die Ansicht niemandem gehört'],
  [
    /^must be an active mailbox that may use its address$/,
    'muss ein aktives Postfach sein, das seine Adresse nutzen darf',
  ],
  [/^names nothing$/, 'nennt nichts, das es gibt'],
  [/^(?:must be an id|must be a UUID.*)$/, 'muss etwas sein, das es gibt'],
  [/^must be an object.*$/, 'ist nicht vollständig'],
  [/^is no filter$/, 'ist kein Filter'],
  [/^is not valid$/, 'ist nicht gültig'],
  [/^is required(?:: .*)?$/, 'fehlt'],
  [/^is listed already$/, 'ist schon eingetragen'],
]

const CUSTOM: Refusals['fields'] = [
  [
    /^must have a name of a to z.*$/,
    'braucht einen Namen aus a bis z, 0 bis 9 und _, der mit einem Buchstaben beginnt',
  ],
  [/^must be text, a number, true or false$/, 'muss Text, eine Zahl oder ja oder nein sein'],
  [
    /^must be text of at most (\d+) characters, a number, .*$/,
    'muss Text von höchstens $1 Zeichen, eine Zahl, ja oder nein oder eine Liste sein',
  ],
  [/^must fit, with the other fields, into (\d+) bytes of JSON$/, 'passt mit den anderen Feldern nicht in $1 Bytes'],
  [/^must name a custom field$/, 'muss ein eigenes Feld nennen'],
]

const ACCESS: Refusals['fields'] = [
  [/^must be given again, or null, .*$/, 'muss neu eingegeben werden, weil sich der Server oder die Anmeldung ändert'],
  [/^must be given, without control characters, beside auth$/, 'gehört zur Anmeldung mit Tokens'],
  [/^must not be given beside auth$/, 'gehört nicht zur Anmeldung mit Tokens'],
  [/^must be starttls or tls beside auth$/, 'muss für die Anmeldung mit Tokens STARTTLS oder TLS sein'],
  [/^must be starttls or tls when there is a password.*$/, 'muss mit einem Passwort STARTTLS oder TLS sein'],
  [/^must be an RSA private key.*$/, 'muss ein privater RSA-Schlüssel von 1024 bis 4096 Bit als PEM sein'],
  [/^must be user:password$/, 'muss Name:Passwort sein'],
  [/^must be the public key of the security policy$/, 'muss der öffentliche Schlüssel der Sicherheitsrichtlinie sein'],
  [/^is not right$/, 'ist nicht richtig'],
  [/^is a member already$/, 'ist schon Mitglied'],
  [/^is invited already$/, 'ist schon eingeladen'],
  [/^must not be before from$/, 'darf nicht vor dem Anfang liegen'],
  [/^must end at most (\d+) days.*$/, 'darf höchstens $1 Tage lang sein'],
  [/^must have hours on one day at least$/, 'braucht an mindestens einem Tag Stunden'],
  [/^must be a list of a target for each of 1 to 4 priorities$/, 'braucht für mindestens eine Priorität eine Zusage'],
  [/^must have one target at most for each priority$/, 'darf für jede Priorität nur eine Zusage haben'],
  [/^is the position of another policy$/, 'ist die Zahl einer anderen Regel'],
  [
    /^must be a list of at most (\d+) spans.*$/,
    'braucht Zeiten wie 08:00–12:00, der Reihe nach und ohne Überschneidung',
  ],
  [/^is the last admin of the organization$/, 'ist der letzte Admin der Organisation'],
  [/^needs a second factor of your own$/, 'setzt voraus, dass Sie selbst einen zweiten Faktor haben'],
  [
    /^can be set by an admin who signed in by this provider$/,
    'setzt nur ein Admin, der über diesen Anbieter angemeldet ist',
  ],
  [/^cannot be false without a password$/, 'geht nur mit einem Passwort'],
  [/^cannot be set for this address.*$/, 'geht bei dieser Adresse nicht: Laden Sie die Person ein'],
  [/^an import has brought this person.*$/, 'kam mit einem Import: Laden Sie die Person ein'],
]

/** The first that fits counts: exact ones stand before wide ones. */
export const faultsGerman: Refusals['fields'] = [
  ...CUSTOM,
  ...[...TEXTS, ...ADDRESSES, ...NUMBERS, ...LISTS],
  ...[...ACCESS, ...THINGS],
]
