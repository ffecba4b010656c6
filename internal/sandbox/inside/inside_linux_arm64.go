package inside

const sysSeccomp = 277
