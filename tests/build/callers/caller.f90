! Calls entries of the test library from Fortran; prints "done".
program caller
   use, intrinsic :: iso_c_binding
   use cases
   implicit none

   real(c_double) :: x(3), rest(2), value, x_grad(3), stiffness_grad, rest_grad(2), factor_grad, root_grad
   integer(c_int) :: status

   x = [0.0d0, 1.5d0, 2.0d0]
   rest = 1.0d0
   status = energy_value_and_grad(x, [3_c_int64_t], 2.0d0, rest, [2_c_int64_t], value, x_grad, stiffness_grad, rest_grad)
   if (status /= cases_ok .or. abs(value - 0.5d0) > 1d-15) error stop "value"
   if (any(x_grad /= [-1.0d0, 2.0d0, -1.0d0]) .or. stiffness_grad /= 0.25d0) error stop "gradient"
   if (any(rest_grad /= [-1.0d0, 1.0d0])) error stop "gradient of a tuple's item"

   status = scale_in_place_value_and_grad(x, [3_c_int64_t], factor=2.0d0, value=value, x_grad=x_grad, &
                                          factor_grad=factor_grad)
   if (status /= cases_ok .or. value /= 7.0d0 .or. x(2) /= 3.0d0) error stop "in place"

   status = newton_grad(-1.0d0, 1d-12, root_grad)
   if (status <= 0) error stop "an exception"
   print "(a)", "done"
end program caller
