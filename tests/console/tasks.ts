/** The tasks of agents and admins in the console, each with its test in a browser: `task <- file: test`. */
const AGENTS = `
open the next ticket, answer and resolve it by keys <- console-keys: by the keyboard > \${TICKETS} tickets are answered and resolved, one after the other
undo a send within ten seconds <- console-keys: by the keyboard > an answer can be taken back for ten seconds, and leaves at once with the page
answer with a file <- console-inbox: the inbox > shows an email that arrives while it is open, and answers it with an attachment
answer with Cc <- console-tasks: a task > answer with a copy to somebody else
write a list, a link, a quotation and code <- console-tasks: a task > answer with a list, a link, a quotation and code
take a snippet by / and paste an image <- console-keys: by the keyboard > puts in a macro by a slash, and writes formatted text with a pasted image
apply a macro, merge and unmerge <- console-inbox: the inbox > applies a macro as it is and as it was changed, merges by code, and undoes that
write an internal note, log time, run a timer <- console-inbox: the inbox > adds a note, assigns, labels, logs time and runs a timer, and lists all of it in the timeline
assign and label by typing, find by the palette <- console-keys: by the keyboard > assigns, labels, resolves and takes back by typing
raise the priority, change the subject <- console-tasks: a task > raise the priority, and change the subject
select several and close them <- console-keys: by the keyboard > changes several tickets at once, and takes that back
search by words, status and label <- console-inbox: the inbox > finds by words, by status and by label, and keeps that in the address
search by days <- console-tasks: a task > search by what came before a day and after it
save a view, see what is unread <- console-keys: by the keyboard > keeps a search as a view with a count, and tells what is new in title and icon
look at my open tickets <- console-tasks: a task > look at what is open and mine
keep a draft over a reload <- console-inbox: the inbox > keeps a draft over a reload, a lost connection and a second page, and offers that of a program
split a ticket <- console-tasks: a task > split a ticket in two, and take that back
look at the customer's other tickets, edit the contact <- console-customers: customers > the customer stands beside the ticket, with company, notes and other tickets
show images on request <- console-tasks: a task > load images of a mail on request, and not before
unfold quoted text, see Reply-To and the proof of the sender <- console-tasks: a task > unfold what a mail quotes, and see where an answer to it goes
see who else is at a ticket <- console-tasks: a task > see who else has the ticket open, and writes
notice that the conversation went on <- console-inbox: the inbox > warns the second of two agents that the first has answered
read a long conversation <- console-tasks: a task > read the beginning of a long conversation
send a failed mail again, delete a message <- console-tasks: a task > send a failed mail again, and delete a message
forward a ticket with its files <- console-deeds: a deed > forward a ticket with its files to somebody else, but none of its notes
forward one message <- console-deeds: a deed > forward one message of several, or none
block a sender <- console-deeds: a deed > block who wrote, and take that back as an admin
delete a ticket <- console-deeds: a deed > delete a ticket for good, unless a label holds it, and go on to the next
answer from another mailbox <- console-deeds: a deed > answer from another mailbox, and find what came to it
notice that somebody begins an answer <- console-deeds: a deed > see at once what somebody else has begun to write
change a whole list <- console-deeds: a deed > change a whole list, and see how far it is from any page
read 300 messages <- console-deeds: a deed > read \${LONG} messages: few are drawn at once, and nothing more is asked for
add a participant <- console-tasks: a task > add somebody who gets every answer
`

const ADMINS = `
go the first steps to real mail <- console-start: the first steps end with mail that came in, went out and came back
add a mailbox and test it <- console-admin: an admin > adds a mailbox, tests it, and what is typed stays when the list is drawn again
open an inlet for mail <- console-admin: an admin > makes an inlet, whose address is shown once and takes mail, and closes it
claim a domain and check its record <- console-admin: an admin > claims a domain, whose record is not published yet
invite a colleague, change the role, remove <- console-admin: an admin > invites somebody, who accepts and sees no pages of admins
make an API key with its permissions <- console-tasks: a task > make a key that may only read contacts
find out why a webhook fails <- console-admin: an admin > sees a webhook fail, looks at the attempt, and sends it again
filter, edit and replay a webhook <- console-admin: an admin > edits a webhook with a filter and an order, and replays what it missed
search the ledger, block a sender, release mail <- console-admin: an admin > searches the ledger, blocks a sender, and releases what is held
set an identity provider <- console-admin: an admin > sets an identity provider, requires no factor without one, and removes it
set up a second factor <- console-tasks: a task > set up a second factor, sign in with it, and remove it
end sessions, read reports and the audit log <- console-admin: an admin > ends another session, changes the password, and reads reports and the audit log
erase a person <- console-deeds: a deed > erase a person, and see how many tickets are erased
send many events again <- console-deeds: a deed > send events again, and see how many are on their way
set rules for old tickets <- console-admin: an admin > looks at what a rule about old tickets would do, saves it, and keeps some by a label
read the report of an import <- console-tasks: a task > read the report of an import
share labels, macros and views <- console-tasks: a task > share a view and a macro with the team
`

export type Task = { who: 'agent' | 'admin'; task: string; proof: string }

/** All of them, agents first. */
export function consoleTasks(): Task[] {
  return [...tasksIn('agent', AGENTS), ...tasksIn('admin', ADMINS)]
}

function tasksIn(who: Task['who'], text: string): Task[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [task, proof] = line.split(' <- ')
      return { who, task: task!, proof: proof! }
    })
}
